import { expect, onTestFinished, test } from 'vitest';
import { createSandbox, freePort, setUp } from './support.ts';

const rounds = Number(process.env.GATEWAY_CRASH_ROUNDS ?? 50);

test(`${rounds} times kill -9 under load: every charge whose end was seen is there, once`, async () => {
  const sandbox = createSandbox();
  onTestFinished(() => sandbox.close());
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  const key = await setUp(sandbox, upstream.line);
  const seen = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const { line, child } = await sandbox.start(
      ['serve', '--port', String(freePort())],
      // A busy test machine may take longer over a commit than an answer normally waits for it.
      { GATEWAY_COMMIT_CEILING_MS: '10000' },
    );
    const url = line.replace('URL: ', '');
    let alive = true;
    const client = async (stream: boolean) => {
      while (alive) {
        try {
          const response = await fetch(`${url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}` },
            body: JSON.stringify({ model: 'practice-small', stream, messages: [{ role: 'user', content: 'hi' }] }),
          });
          const text = await response.text();
          const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
          if (response.status === 200 && whole) seen.add(response.headers.get('x-oneapi-request-id') ?? '');
        } catch {
          return;
        }
      }
    };
    const clients = Array.from({ length: 8 }, (_, index) => client(index % 2 === 0));
    await Bun.sleep(20 + Math.random() * 250);
    child.kill('SIGKILL');
    await child.exited;
    alive = false;
    await Promise.all(clients);
  }
  const verified = await sandbox.run(['ledger', 'verify', '--json']);
  const reports = JSON.parse(verified.out) as { id: string; violations: number }[];
  expect(reports.filter((report) => report.violations > 0)).toEqual([]);
  const { Database } = await import('bun:sqlite');
  const database = new Database(`${sandbox.dataDir}/gateway.db`, { readonly: true });
  const posted = (database.query("SELECT ref FROM postings WHERE kind = 'settle'").values() as [string][]).map(
    ([ref]) => ref,
  );
  const logged = (database.query('SELECT request_id FROM logs WHERE type = 2').values() as [string][]).map(
    ([ref]) => ref,
  );
  database.close();
  const inBooks = new Set(posted);
  expect(inBooks.size).toBe(posted.length);
  expect([...seen].filter((ref) => !inBooks.has(ref))).toEqual([]);
  expect(new Set(logged)).toEqual(inBooks);
  console.log(`${rounds} rounds, ${seen.size} ends seen, ${posted.length} charges, 0 lost, 0 doubled`);
}, 300_000);
