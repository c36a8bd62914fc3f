From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition let_0 : formula := (AtMost (Times 2%Z Position) Length).
Definition let_1 : formula := (AtMost (Plus (Plus Length (Constant 1%Z)) (Constant 1%Z)) (Times 2%Z Position)).
Definition F : formula := (AtMost (Plus (CountLeft (And (Atom 0) let_1)) (Constant 1%Z)) (CountLeft (And (Atom 0) let_0))).
Definition N : network := Network 2 true
  [(0, 0, (1 # 1)); (0, 1, (1 # 1)); (1, 0, (1 # 1))]
  [(2, Number (Monomial true 0%Z 0%Z)); (3, Number (Monomial false 1%Z 0%Z)); (4, Number (Monomial false 0%Z 1%Z)); (5, Number (Monomial false 1%Z 1%Z)); (6, Number (Monomial false 2%Z 1%Z))]
  [
  Layer [
    Head Future 0 [] [] [(7, 2, (-1 # 1))]] [(0, 3, (-4 # 1)); (0, 4, (2 # 1)); (1, 3, (-4 # 1)); (1, 4, (2 # 1)); (2, 3, (4 # 1)); (2, 4, (-2 # 1)); (3, 3, (4 # 1)); (3, 4, (-2 # 1)); (4, 7, (3 # 1)); (5, 7, (3 # 1))] [(3 # 2); (1 # 2); (-5 # 2); (-7 # 2); (-3 # 2); (-5 # 2)] [(8, 0, (1 # 1)); (8, 1, (-1 # 1)); (9, 2, (1 # 1)); (9, 3, (-1 # 1)); (10, 4, (1 # 1)); (10, 5, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 0 [] [] [(11, 10, (1 # 1))]] [(0, 1, (1 # 1)); (0, 8, (1 # 1)); (1, 1, (1 # 1)); (1, 8, (1 # 1)); (2, 1, (1 # 1)); (2, 9, (1 # 1)); (3, 1, (1 # 1)); (3, 9, (1 # 1))] [(-1 # 1); (-2 # 1); (-1 # 1); (-2 # 1)] [(12, 0, (1 # 1)); (12, 1, (-1 # 1)); (13, 2, (1 # 1)); (13, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 0 [] [] [(14, 13, (1 # 1))];
    Head Future 2 [(0, 4, (4 # 1)); (1, 0, (4 # 1))] [(0, 13, (1 # 1)); (1, 3, (1 # 2))] [(15, 13, (1 # 1))];
    Head Future 0 [] [] [(16, 12, (1 # 1))];
    Head Future 2 [(0, 4, (4 # 1)); (1, 0, (4 # 1))] [(0, 12, (1 # 1)); (1, 3, (1 # 2))] [(17, 12, (1 # 1))]] [(0, 15, (2 # 1)); (1, 15, (2 # 1)); (2, 17, (2 # 1)); (3, 17, (2 # 1))] [(-1 # 2); (-3 # 2); (-1 # 2); (-3 # 2)] [(18, 0, (1 # 1)); (18, 1, (-1 # 1)); (19, 2, (1 # 1)); (19, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Unmasked 2 [(0, 14, (4 # 1)); (1, 11, (4 # 1))] [(0, 5, (2 # 1)); (1, 6, (-1 # 1))] [(20, 3, (1 # 1))];
    Head Unmasked 2 [(0, 16, (4 # 1)); (1, 11, (4 # 1))] [(0, 5, (2 # 1)); (1, 6, (-1 # 1))] [(21, 3, (1 # 1))]] [(0, 18, (-2 # 1)); (0, 19, (2 # 1)); (0, 20, (-2 # 1)); (0, 21, (2 # 1)); (1, 18, (-2 # 1)); (1, 19, (2 # 1)); (1, 20, (-2 # 1)); (1, 21, (2 # 1))] [(-1 # 2); (-3 # 2)] [(22, 0, (1 # 1)); (22, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 22 (Monomial false 0%Z 0%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [0];
   NAtLeast [((-2)%Z, (Before, (0, false))); (1%Z, (Everywhere, (0, false)))] 0%Z;
   NAnd [(1, false); (2, false)];
   NAtLeast [((-1)%Z, (Everywhere, (0, false))); (2%Z, (Before, (0, false)))] (-2)%Z;
   NAnd [(1, false); (4, false)];
   NAtLeast [((-1)%Z, (Before, (5, false))); (1%Z, (Before, (3, false)))] (-1)%Z;
   NAtLeast [(1%Z, (Before, (5, false)))] (-1)%Z;
   NAtLeast [(1%Z, (Before, (3, false)))] (-1)%Z;
   NFirst;
   NLast;
   NEven]
  [VConst (1 # 1); VLit (1, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z 0%Z); VNumber (Monomial false 0%Z 1%Z); VNumber (Monomial false 1%Z 1%Z); VNumber (Monomial false 2%Z 1%Z); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 7 (Mark true) [11]]
     [Unit 8 (2, false) [2]; Unit 9 (4, false) [4]; Unit 10 (9, false) [9; 11]];
   LayerHint [
     Hint 11 (Reciprocal 9) [9]]
     [Unit 12 (3, false) [1; 2]; Unit 13 (5, false) [1; 4]];
   LayerHint [
     Hint 14 (Mean (5, false)) [5];
     Hint 15 (Reach 7 ByLength (4 # 1) (70955 # 524288)) [5];
     Hint 16 (Mean (3, false)) [3];
     Hint 17 (Reach 8 ByLength (4 # 1) (70955 # 524288)) [3]]
     [Unit 18 (7, false) [7]; Unit 19 (8, false) [8]];
   LayerHint [
     Hint 20 (LookupCount (Before, (5, false)) (4 # 1) (19929 # 1048576)) [];
     Hint 21 (LookupCount (Before, (3, false)) (4 # 1) (19929 # 1048576)) []]
     [Unit 22 (6, false) [7; 8; 6]]].
Theorem network_computes_formula : computes N AtLast F.
Proof. apply (check_sound N AtLast F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
