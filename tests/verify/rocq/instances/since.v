(* A "quoted *) string" in (* nested *) comments: since *)
From Coq Require Import List ZArith QArith.
Require Import Definitions Nodes Analysis Values Heads Surface Check.
Import ListNotations.
Open Scope nat_scope.
Definition F : formula := (Since (Atom 0) (Atom 1)).
Definition N : network := Network 3 true
  [(0, 0, (1 # 1)); (1, 0, (1 # 1)); (1, 1, (1 # 1)); (1, 2, (1 # 1)); (2, 0, (1 # 1)); (2, 2, (1 # 1))]
  [(3, Number (Monomial true 0%Z 0%Z)); (4, Number (Monomial false 1%Z (-1)%Z))]
  [
  Layer [
    Head Future 1 [(0, 0, (4 # 1))] [(0, 2, (1 # 1)); (0, 4, (1 # 2))] [(5, 1, (1 # 1))]] [(0, 5, (2 # 1)); (1, 5, (2 # 1))] [(-1 # 2); (-3 # 2)] [(6, 0, (1 # 1)); (6, 1, (-1 # 1))] [(0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1); (0 # 1)]] 6 (Monomial false 0%Z (-1)%Z).
Definition C : certificate := Certificate
  [
   NAnd [];
   NLetters [0];
   NLetters [1];
   NLetters [1; 2];
   NSince (1, false) (2, false);
   NFirst;
   NLast;
   NEven]
  [VConst (1 # 1); VLit (2, false); VLit (3, false); VNumber (Monomial true 0%Z 0%Z); VNumber (Monomial false 1%Z (-1)%Z); VConst (0 # 1); VConst (0 # 1)]
  [
   LayerHint [
     Hint 5 (Reach 4 ByLength (4 # 1) (70955 # 524288)) [3; 2; 1]]
     [Unit 6 (4, false) [4]]].
Theorem network_computes_formula : computes N AtLast F.
Proof. apply (check_sound N AtLast F C). vm_compute. reflexivity. Qed.
Print Assumptions network_computes_formula.
