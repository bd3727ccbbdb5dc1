#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_queue.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_queue.py b/tests/test_queue.py
index 92ba3e5..a470033 100644
--- a/tests/test_queue.py
+++ b/tests/test_queue.py
@@ -28,3 +28,33 @@ def test_failed_is_kept():
     queue.put(lambda: 1 / 0)
     assert queue.run() == []
     assert len(queue.failed) == 1
+
+
+def test_as_many_attempts_as_promised():
+    tries = []
+
+    def job():
+        tries.append(1)
+        raise OSError
+
+    queue = Queue(attempts=4)
+    queue.put(job)
+    queue.run()
+    assert len(tries) == 4
+
+
+def test_the_last_attempt_of_a_slow_job_counts():
+    import time
+
+    tries = []
+
+    def job():
+        tries.append(1)
+        time.sleep(0.5)
+        if len(tries) < 2:
+            raise OSError
+        return "done"
+
+    queue = Queue(attempts=2)
+    queue.put(job)
+    assert queue.run() == ["done"]
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_queue.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_queue.py
