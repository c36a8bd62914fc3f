From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition let_0 : term := (CountLeft (Atom 0)).
Definition let_1 : term := (CountLeft (Atom 1)).
Definition F : formula := (And (Historically (AtMost let_1 let_0)) (Equal let_1 let_0)).
Definition N : network := Network 2 true
  [(0, 0, (1 # 1)); (0, 2, (1 # 1)); (1, 0, (1 # 1)); (1, 1, (1 # 1))]
  [(3, Number (Monomial true 0%Z 0%Z)); (4, Number (Monomial false 1%Z (-1)%Z)); (5, Number (Monomial false 1%Z 0%Z)); (6, Number (Monomial false 2%Z 0%Z))]
  [
  Layer [
    Head Future 0 [] [] [(7, 1, (1 # 1))];
    Head Future 1 [(0, 0, (4 # 1))] [(0, 1, (1 # 1)); (0, 4, (1 # 2))] [(8, 1, (1 # 1))];
    Head Future 0 [] [] [(9, 3, (-1 # 1))];
    Head Future 0 [] [] [(10, 2, (1 # 1))];
    Head Future 1 [(0, 0, (4 # 1))] [(0, 2, (1 # 1)); (0, 4, (1 # 2))] [(11, 2, (1 # 1))]] [(0, 8, (2 # 1)); (1, 8, (2 # 1)); (2, 9, (3 # 1)); (3, 9, (3 # 1)); (4, 11, (2 # 1)); (5, 11, (2 # 1))] [(-1 # 2); (-3 # 2); (-3 # 2); (-5 # 2); (-1 # 2); (-3 # 2)] [(12, 0, (1 # 1)); (12, 1, (-1 # 1)); (13, 2, (1 # 1)); (13, 3, (-1 # 1)); (14, 4, (1 # 1)); (14, 5, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 0 [] [] [(15, 13, (1 # 1))]] [] [] [] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Unmasked 2 [(0, 7, (4 # 1)); (1, 15, (4 # 1))] [(0, 5, (2 # 1)); (1, 6, (-1 # 1))] [(16, 5, (1 # 1))];
    Head Unmasked 2 [(0, 10, (4 # 1)); (1, 15, (4 # 1))] [(0, 5, (2 # 1)); (1, 6, (-1 # 1))] [(17, 5, (1 # 1))]] [(0, 12, (-2 # 1)); (0, 14, (2 # 1)); (0, 16, (-2 # 1)); (0, 17, (2 # 1)); (1, 12, (-2 # 1)); (1, 14, (2 # 1)); (1, 16, (-2 # 1)); (1, 17, (2 # 1)); (2, 12, (2 # 1)); (2, 14, (-2 # 1)); (2, 16, (2 # 1)); (2, 17, (-2 # 1)); (3, 12, (2 # 1)); (3, 14, (-2 # 1)); (3, 16, (2 # 1)); (3, 17, (-2 # 1))] [(3 # 2); (1 # 2); (3 # 2); (1 # 2)] [(18, 0, (1 # 1)); (18, 1, (-1 # 1)); (19, 2, (1 # 1)); (19, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 1 [(0, 0, (4 # 1))] [(0, 0, (1 # 1)); (0, 4, (1 # 2)); (0, 18, (-1 # 1))] [(20, 0, (1 # 1)); (20, 18, (-1 # 1))]] [(0, 20, (2 # 1)); (1, 20, (2 # 1))] [(-1 # 2); (-3 # 2)] [(21, 0, (1 # 1)); (21, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [] [(0, 18, (1 # 1)); (0, 19, (1 # 1)); (0, 21, (-1 # 1)); (1, 18, (1 # 1)); (1, 19, (1 # 1)); (1, 21, (-1 # 1))] [(-1 # 1); (-2 # 1)] [(22, 0, (1 # 1)); (22, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 22 (Monomial false 0%Z (-1)%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [1];
   NLetters [0];
   NAtLeast [((-1)%Z, (Before, (1, false))); (1%Z, (Before, (2, false)))] 0%Z;
   NSince (0, false) (3, true);
   NAtLeast [((-1)%Z, (Before, (2, false))); (1%Z, (Before, (1, false)))] 0%Z;
   NAnd [(3, false); (5, false)];
   NAnd [(3, false); (4, true); (5, false)];
   NAtLeast [(1%Z, (Before, (1, false)))] (-1)%Z;
   NAtLeast [(1%Z, (Before, (2, false)))] (-1)%Z;
   NFirst;
   NLast;
   NEven]
  [VConst (1 # 1); VLit (1, false); VLit (2, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z (-1)%Z); VNumber (Monomial false 1%Z 0%Z); VNumber (Monomial false 2%Z 0%Z); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 7 (Mean (1, false)) [1];
     Hint 8 (Reach 8 ByLength (4 # 1) (70955 # 524288)) [1];
     Hint 9 (Mark true) [12];
     Hint 10 (Mean (2, false)) [2];
     Hint 11 (Reach 9 ByLength (4 # 1) (70955 # 524288)) [2]]
     [Unit 12 (8, false) [8]; Unit 13 (10, false) [10; 12]; Unit 14 (9, false) [9]];
   LayerHint [
     Hint 15 (Reciprocal 10) [10]]
     [];
   LayerHint [
     Hint 16 (LookupCount (Before, (1, false)) (4 # 1) (19929 # 1048576)) [];
     Hint 17 (LookupCount (Before, (2, false)) (4 # 1) (19929 # 1048576)) []]
     [Unit 18 (3, false) [8; 9; 3]; Unit 19 (5, false) [8; 9; 5]];
   LayerHint [
     Hint 20 (Reach 4 ByLength (4 # 1) (70955 # 524288)) [3; 0]]
     [Unit 21 (4, false) [4]];
   LayerHint []
     [Unit 22 (7, false) [3; 5; 4]]].
Theorem network_computes_formula : computes N AtLast F.
Proof. apply (check_sound N AtLast F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
