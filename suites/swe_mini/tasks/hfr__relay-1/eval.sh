#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_queue.py
rm -f tests/test_waits.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_queue.py b/tests/test_queue.py
index 92ba3e5..9a36e07 100644
--- a/tests/test_queue.py
+++ b/tests/test_queue.py
@@ -28,3 +28,9 @@ def test_failed_is_kept():
     queue.put(lambda: 1 / 0)
     assert queue.run() == []
     assert len(queue.failed) == 1
+
+
+def test_waits_are_those_of_the_module():
+    from relay import queue, waits
+
+    assert queue.backoff is waits.backoff
diff --git a/tests/test_waits.py b/tests/test_waits.py
new file mode 100644
index 0000000..5ce3621
--- /dev/null
+++ b/tests/test_waits.py
@@ -0,0 +1,15 @@
+import importlib.util
+
+from relay.waits import backoff
+
+
+def test_doubled():
+    assert [backoff(n) for n in (1, 2, 3)] == [1.0, 2.0, 4.0]
+
+
+def test_most():
+    assert backoff(20) == 30.0
+
+
+def test_the_old_name_is_gone():
+    assert importlib.util.find_spec("relay.util") is None
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_queue.py tests/test_waits.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_queue.py
rm -f tests/test_waits.py
