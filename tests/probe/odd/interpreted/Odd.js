// Features of Node that a recording could disturb: workers, Atomics.wait, timers, children.
const {Worker, isMainThread, workerData, parentPort} = require('worker_threads');
const {spawnSync} = require('child_process');
const fs = require('fs');

if (!isMainThread) {
  const words = new Int32Array(workerData);
  for (let i = 0; i < 200; ++i) {
    while (Atomics.compareExchange(words, 0, 0, 1) !== 0) Atomics.wait(words, 0, 1, 5);
    words[1] += 1;
    Atomics.store(words, 0, 0);
    Atomics.notify(words, 0, 1);
  }
  parentPort.postMessage('done');
} else {
  console.log('variables', Object.keys(process.env).sort().join(','));
  const shared = new SharedArrayBuffer(8);
  let left = 3;
  const file = `${process.env.TMPDIR}/text`;
  for (let i = 0; i < 3; ++i) {
    const worker = new Worker(__filename, {workerData: shared});
    worker.on('exit', () => {
      if (--left > 0) return;
      console.log('counted', new Int32Array(shared)[1]);
      fs.writeFileSync(file, 'x'.repeat(100000));
      fs.readFile(file, (error, text) => {
        console.log('read', error, text.length);
        fs.unlinkSync(file);
        const child = spawnSync('sh', ['-c', 'env | grep -c -e THREADMARK -e PRELOAD; kill -9 $$']);
        console.log('child', String(child.stdout).trim(), child.status, child.signal);
        process.exitCode = 5;
      });
    });
  }
}
