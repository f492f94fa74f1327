/** A connection that the server ends in the middle of a transaction. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { testServer } from '../support/engines.ts';

const program = `
  import { createPool } from ${JSON.stringify(resolve('db/postgres/open.ts'))};
  const pool = createPool(process.env.SERVER);
  const mine = await pool.connect();
  await mine.query('BEGIN');
  const { rows: [{ pid }] } = await mine.query('SELECT pg_backend_pid() AS pid');
  const gone = new Promise((resolve) => mine.once('end', resolve));
  await pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await gone;
  if (await mine.query('SELECT 1').then(() => true, () => false)) console.log('it answers still');
  mine.release(true);
  const { rows } = await pool.query('SELECT 1 AS one');
  await pool.end();
  console.log(JSON.stringify(rows));
`;

test('a connection that breaks in use fails the next query, and the process goes on', async () => {
  const child = Bun.spawn([process.execPath, '-e', program], {
    env: { ...process.env, SERVER: testServer },
    timeout: 20_000,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ out: out.trim(), err, code }).toEqual({ out: '[{"one":1}]', err: '', code: 0 });
});
