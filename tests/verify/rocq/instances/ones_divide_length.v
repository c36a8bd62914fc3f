From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition F : formula := (Holds (Both (Negated (Eq X (Const 0%Z))) (Eq (Mod Len X) (Const 0%Z))) (CountLeft (Atom 1))).
Definition N : network := Network 2 true
  [(0, 0, (1 # 1)); (1, 0, (1 # 1)); (1, 1, (1 # 1))]
  [(2, Number (Monomial true 0%Z 0%Z)); (3, Number (Monomial false 1%Z (-1)%Z)); (4, Indicator (Both (Negated (Eq X (Const 0%Z))) (Eq (Mod Len X) (Const 0%Z)))); (5, Indicator (Both (Negated (Eq (Const 0%Z) (Const 0%Z))) (Eq (Mod Len (Const 0%Z)) (Const 0%Z)))); (6, Number (Monomial false 1%Z 0%Z)); (7, Number (Monomial false 2%Z 0%Z))]
  [
  Layer [
    Head Future 0 [] [] [(8, 1, (1 # 1))];
    Head Future 1 [(0, 0, (4 # 1))] [(0, 1, (1 # 1)); (0, 3, (1 # 2))] [(9, 1, (1 # 1))];
    Head Future 0 [] [] [(10, 2, (-1 # 1))]] [(0, 9, (2 # 1)); (1, 9, (2 # 1)); (2, 10, (3 # 1)); (3, 10, (3 # 1))] [(-1 # 2); (-3 # 2); (-3 # 2); (-5 # 2)] [(11, 0, (1 # 1)); (11, 1, (-1 # 1)); (12, 2, (1 # 1)); (12, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Future 0 [] [] [(13, 12, (1 # 1))]] [] [] [] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)];
  Layer [
    Head Unmasked 2 [(0, 8, (4 # 1)); (1, 13, (4 # 1))] [(0, 6, (2 # 1)); (1, 7, (-1 # 1))] [(14, 4, (1 # 1))]] [(0, 11, (2 # 1)); (0, 14, (2 # 1)); (1, 11, (2 # 1)); (1, 14, (2 # 1)); (2, 5, (1 # 1)); (2, 11, (-1 # 1)); (3, 5, (1 # 1)); (3, 11, (-1 # 1))] [(-5 # 2); (-7 # 2); (0 # 1); (-1 # 1)] [(15, 0, (1 # 1)); (15, 1, (-1 # 1)); (15, 2, (1 # 1)); (15, 3, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 15 (Monomial false 0%Z (-1)%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [1];
   NNumeric (Both (Negated (Eq X (Const 0%Z))) (Eq (Mod Len X) (Const 0%Z))) (Before, (1, false));
   NAtLeast [(1%Z, (Before, (1, false)))] (-1)%Z;
   NFirst;
   NLast;
   NEven;
   NHolds (Both (Negated (Eq X (Const 0%Z))) (Eq (Mod Len X) (Const 0%Z)));
   NHolds (Both (Negated (Eq (Const 0%Z) (Const 0%Z))) (Eq (Mod Len (Const 0%Z)) (Const 0%Z)))]
  [VConst (1 # 1); VLit (1, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z (-1)%Z); VLit (7, false); VLit (8, false); VNumber (Monomial false 1%Z 0%Z); VNumber (Monomial false 2%Z 0%Z); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 8 (Mean (1, false)) [1];
     Hint 9 (Reach 3 ByLength (4 # 1) (70955 # 524288)) [1];
     Hint 10 (Mark true) [6]]
     [Unit 11 (3, false) [3]; Unit 12 (4, false) [4; 6]];
   LayerHint [
     Hint 13 (Reciprocal 4) [4]]
     [];
   LayerHint [
     Hint 14 (LookupTruth (Before, (1, false)) 2 (4 # 1) (4891 # 131072)) [7]]
     [Unit 15 (2, false) [3; 2; 8]]].
Theorem network_computes_formula : computes N AtLast F.
Proof. apply (check_sound N AtLast F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
