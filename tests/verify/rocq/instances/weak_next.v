From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition F : formula := (Always (Implies (Atom 0) (WeakNext (Atom 1)))).
Definition N : network := Network 2 true
  [(0, 0, (1 # 1)); (0, 1, (1 # 1)); (1, 0, (1 # 1)); (1, 2, (1 # 1))]
  [(3, Number (Monomial true 0%Z 0%Z)); (4, Number (Monomial false 1%Z 0%Z)); (5, Number (Monomial false 0%Z 1%Z))]
  [
  Layer [
    Head Past 0 [] [] [(6, 3, (1 # 1))];
    Head Future 0 [] [] [(7, 3, (-1 # 1))]] [(0, 6, (3 # 1)); (1, 6, (3 # 1)); (2, 6, (-3 # 1)); (3, 6, (-3 # 1)); (4, 7, (3 # 1)); (5, 7, (3 # 1))] [(-3 # 2); (-5 # 2); (-3 # 2); (-5 # 2); (-3 # 2); (-5 # 2)] [(8, 0, (1 # 1)); (8, 1, (-1 # 1)); (8, 2, (1 # 1)); (8, 3, (-1 # 1)); (9, 4, (1 # 1)); (9, 5, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Past 2 [(0, 5, (4 # 1)); (1, 0, (4 # 1))] [(0, 0, (1 # 2)); (0, 3, (1 # 2)); (1, 4, (-1 # 2))] [(10, 0, (1 # 1)); (10, 2, (-1 # 1))];
    Head Past 2 [(0, 5, (4 # 1)); (1, 0, (4 # 1))] [(0, 0, (1 # 2)); (0, 3, (-1 # 2)); (1, 4, (-1 # 2))] [(11, 0, (1 # 1)); (11, 2, (-1 # 1))]] [(0, 3, (-1 # 1)); (0, 8, (-2 # 1)); (0, 10, (2 # 1)); (1, 3, (-1 # 1)); (1, 8, (-2 # 1)); (1, 10, (2 # 1)); (2, 3, (1 # 1)); (2, 8, (-2 # 1)); (2, 11, (2 # 1)); (3, 3, (1 # 1)); (3, 8, (-2 # 1)); (3, 11, (2 # 1))] [(-3 # 2); (-5 # 2); (-3 # 2); (-5 # 2)] [(12, 0, (1 # 1)); (12, 1, (-1 # 1)); (12, 2, (1 # 1)); (12, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [] [(0, 1, (1 # 1)); (0, 12, (1 # 1)); (1, 1, (1 # 1)); (1, 12, (1 # 1))] [(-1 # 1); (-2 # 1)] [(13, 0, (1 # 1)); (13, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Past 2 [(0, 5, (4 # 1)); (1, 0, (4 # 1))] [(0, 13, (1 # 1)); (1, 4, (-1 # 2))] [(14, 13, (1 # 1))]] [(0, 14, (2 # 1)); (1, 14, (2 # 1))] [(-1 # 2); (-3 # 2)] [(15, 0, (1 # 1)); (15, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [] [(0, 9, (1 # 1)); (0, 15, (-1 # 1)); (1, 9, (1 # 1)); (1, 15, (-1 # 1))] [(0 # 1); (-1 # 1)] [(16, 0, (1 # 1)); (16, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 2 [(0, 5, (4 # 1)); (1, 0, (4 # 1))] [(0, 16, (1 # 1)); (1, 4, (1 # 2))] [(17, 16, (1 # 1))]] [(0, 17, (2 # 1)); (1, 17, (2 # 1))] [(-1 # 2); (-3 # 2)] [(18, 0, (1 # 1)); (18, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 18 (Monomial false 0%Z 0%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [0];
   NLetters [1];
   NNext (2, true);
   NAnd [(1, false); (3, false)];
   NUntil (0, false) (4, false);
   NFirst;
   NAnd [(5, true); (6, false)];
   NSince (0, false) (7, false);
   NEven;
   NLast]
  [VConst (1 # 1); VLit (1, false); VLit (2, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z 0%Z); VNumber (Monomial false 0%Z 1%Z); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 6 (Mark false) [9];
     Hint 7 (Mark true) [9]]
     [Unit 8 (10, false) [10; 9]; Unit 9 (6, false) [6; 9]];
   LayerHint [
     Hint 10 (Step 3 true ByLength (4 # 1) (70955 # 524288)) [9; 2];
     Hint 11 (Step 3 false ByLength (4 # 1) (70955 # 524288)) [9; 2]]
     [Unit 12 (3, false) [9; 10; 3]];
   LayerHint []
     [Unit 13 (4, false) [1; 3]];
   LayerHint [
     Hint 14 (Reach 5 ByLength (4 # 1) (70955 # 524288)) [4; 0]]
     [Unit 15 (5, false) [5]];
   LayerHint []
     [Unit 16 (7, false) [6; 5]];
   LayerHint [
     Hint 17 (Reach 8 ByLength (4 # 1) (70955 # 524288)) [7; 0]]
     [Unit 18 (8, false) [8]]].
Theorem network_computes_formula : computes N AtFirst F.
Proof. apply (check_sound N AtFirst F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
