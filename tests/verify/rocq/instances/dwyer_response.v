From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition F : formula := (Always (Implies (Atom 0) (Eventually (Atom 1)))).
Definition N : network := Network 3 true
  [(0, 0, (1 # 1)); (0, 1, (1 # 1)); (1, 0, (1 # 1)); (1, 2, (1 # 1)); (2, 0, (1 # 1))]
  [(3, Number (Monomial true 0%Z 0%Z)); (4, Number (Monomial false 1%Z (-1)%Z))]
  [
  Layer [
    Head Past 1 [(0, 0, (4 # 1))] [(0, 2, (1 # 1)); (0, 4, (-1 # 2))] [(5, 2, (1 # 1))];
    Head Future 0 [] [] [(6, 3, (-1 # 1))]] [(0, 5, (2 # 1)); (1, 5, (2 # 1)); (2, 6, (3 # 1)); (3, 6, (3 # 1))] [(-1 # 2); (-3 # 2); (-3 # 2); (-5 # 2)] [(7, 0, (1 # 1)); (7, 1, (-1 # 1)); (8, 2, (1 # 1)); (8, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [] [(0, 1, (1 # 1)); (0, 7, (-1 # 1)); (1, 1, (1 # 1)); (1, 7, (-1 # 1))] [(0 # 1); (-1 # 1)] [(9, 0, (1 # 1)); (9, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Past 1 [(0, 0, (4 # 1))] [(0, 4, (-1 # 2)); (0, 9, (1 # 1))] [(10, 9, (1 # 1))]] [(0, 10, (2 # 1)); (1, 10, (2 # 1))] [(-1 # 2); (-3 # 2)] [(11, 0, (1 # 1)); (11, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [] [(0, 8, (1 # 1)); (0, 11, (-1 # 1)); (1, 8, (1 # 1)); (1, 11, (-1 # 1))] [(0 # 1); (-1 # 1)] [(12, 0, (1 # 1)); (12, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 1 [(0, 0, (4 # 1))] [(0, 4, (1 # 2)); (0, 12, (1 # 1))] [(13, 12, (1 # 1))]] [(0, 13, (2 # 1)); (1, 13, (2 # 1))] [(-1 # 2); (-3 # 2)] [(14, 0, (1 # 1)); (14, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 14 (Monomial false 0%Z (-1)%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [0];
   NLetters [1];
   NLetters [0; 2];
   NUntil (0, false) (2, false);
   NAnd [(1, false); (4, true)];
   NUntil (0, false) (5, false);
   NFirst;
   NAnd [(6, true); (7, false)];
   NSince (0, false) (8, false);
   NLast;
   NEven]
  [VConst (1 # 1); VLit (1, false); VLit (2, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z (-1)%Z); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 5 (Reach 4 ByLength (4 # 1) (70955 # 524288)) [2; 0];
     Hint 6 (Mark true) [11]]
     [Unit 7 (4, false) [4]; Unit 8 (7, false) [7; 11]];
   LayerHint []
     [Unit 9 (5, false) [1; 4]];
   LayerHint [
     Hint 10 (Reach 6 ByLength (4 # 1) (70955 # 524288)) [5; 0]]
     [Unit 11 (6, false) [6]];
   LayerHint []
     [Unit 12 (8, false) [7; 6]];
   LayerHint [
     Hint 13 (Reach 9 ByLength (4 # 1) (70955 # 524288)) [8; 0]]
     [Unit 14 (9, false) [9]]].
Theorem network_computes_formula : computes N AtFirst F.
Proof. apply (check_sound N AtFirst F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
