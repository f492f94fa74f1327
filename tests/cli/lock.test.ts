import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const module = resolve(import.meta.dirname, '../../server/app/data-dir.ts');

/** Takes the folder again and again, notices company, and at last dies with the folder in its hands. */
const worker = `
import { rmSync, writeFileSync } from 'node:fs';
import { acquireLock, dataDirFiles } from ${JSON.stringify(module)};
const files = dataDirFiles(process.argv[2]);
const inside = files.dir + '/inside';
const take = async () => {
  for (;;) {
    try { return acquireLock(files); } catch (error) { if (error.code !== 'data_dir_locked') throw error; }
    await Bun.sleep(Math.random() * 2);
  }
};
for (let round = 0; round < 60; round++) {
  const release = await take();
  writeFileSync(inside, String(process.pid), { flag: 'wx' });
  if (round % 5 === 0) await Bun.sleep(1);
  rmSync(inside);
  release();
}
await take();
process.exit(0);
`;

test('one of many processes gets the folder, also after its former owner died with it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-lock-'));
  const script = join(dir, 'worker.ts');
  await Bun.write(script, worker);
  const children = Array.from({ length: 6 }, () =>
    Bun.spawn([process.execPath, script, dir], { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' }),
  );
  const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
  expect(errors.filter((text) => text !== '')).toEqual([]);
  expect(readdirSync(dir).filter((name) => name.startsWith('gateway.lock')).length).toBeLessThanOrEqual(1);
  rmSync(dir, { recursive: true, force: true });
});
