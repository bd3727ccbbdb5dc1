#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 426066adaad86a15aa2346e6afdb320340113fe5
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_stored.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_stored.py b/tests/test_stored.py
index 70a53a1..e8269fe 100644
--- a/tests/test_stored.py
+++ b/tests/test_stored.py
@@ -10,3 +10,18 @@ def test_owner():
 
 def test_first_step_is_applied():
     assert json.loads(STORED.read_text())["applied"][0] == "name_the_owner"
+
+
+def test_amounts_are_cents():
+    assert [entry[2] for entry in json.loads(STORED.read_text())["entries"]] == [70000, 400]
+
+
+def test_every_step_is_applied_once():
+    applied = json.loads(STORED.read_text())["applied"]
+    assert applied == ["name_the_owner", "amounts_in_cents"]
+
+
+def test_steps_can_be_loaded():
+    from tally.migrations import STEPS
+
+    assert [step.__name__ for step in STEPS] == ["name_the_owner", "amounts_in_cents"]
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_stored.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_stored.py
