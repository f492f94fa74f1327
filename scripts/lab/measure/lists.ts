/** How long the list calls take with 100,000 rows behind each: the first page, a late page and a search, p95 of 40 calls. */
import { sql } from 'kysely';
import { createApiFixture } from '../../../tests/support/api.ts';

const rows = 100_000;
const iterations = 40;
const api = await createApiFixture();
const { headers, id: rootId } = await api.addUser('root', 100);
const { query } = api.gateway.database;
const numbers = sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${sql.lit(rows)})`;

console.log(`filling ${rows} rows each ...`);
await sql`${numbers} INSERT INTO users (username, password_hash, role, status, group_name, created_at, email) SELECT 'user' || i, 'x', 1, 1, 'default', i, 'u' || i || '@people.example' FROM n`.execute(
  query,
);
await sql`${numbers} INSERT INTO tokens (user_id, name, key_hmac, key_sealed, key_hint, status, created_at, accessed_at, expires_at, quota_limit) SELECT ${sql.lit(rootId)}, 'token' || i, 'h' || i, ${sql.lit(api.gateway.vault.encrypt('token-key', 'k'))}, 'hint', 1, i, 0, -1, 5 FROM n`.execute(
  query,
);
await sql`${numbers} INSERT INTO redemptions (user_id, name, key_hmac, key_sealed, quota, created_at) SELECT ${sql.lit(rootId)}, 'code' || i, 'h' || i, ${sql.lit(api.gateway.vault.encrypt('redemption-key', 'c'))}, 5, i FROM n`.execute(
  query,
);
await sql`${numbers} INSERT INTO drawing_tasks (user_id, action, mj_id, submit_ms) SELECT ${sql.lit(rootId)}, 'IMAGINE', 'mj' || i, i FROM n`.execute(
  query,
);
await sql`${numbers} INSERT INTO tasks (created_at, updated_at, task_id, platform, user_id, submit_at) SELECT i, i, 't' || i, 'suno', ${sql.lit(rootId)}, i FROM n`.execute(
  query,
);
await sql`${numbers} INSERT INTO channels (type, name, key_sealed, key_hint, models, group_name, created_at) SELECT 1, 'channel' || i, ${sql.lit(api.gateway.vault.encrypt('channel-key', 'k'))}, 'h', 'gpt-4o', 'default', i FROM n WHERE i <= 1000`.execute(
  query,
);

const calls = [
  '/api/user/?p=1&page_size=20',
  '/api/user/?p=4000&page_size=20',
  '/api/user/search?keyword=user99&p=1&page_size=20',
  '/api/token/?p=0&size=20',
  '/api/token/?p=4000&size=20',
  '/api/token/search?keyword=token99999',
  '/api/redemption/?p=1&page_size=20',
  '/api/redemption/search?keyword=code99&p=1&page_size=20',
  '/api/mj/?p=0',
  '/api/mj/self?p=4000',
  '/api/task/?p=0',
  '/api/channel/?p=0&page_size=20',
  '/api/channel/search?keyword=channel9',
];
let worst = 0;
for (const path of calls) {
  const times: number[] = [];
  for (let round = 0; round < iterations; round++) {
    const startedAt = performance.now();
    const { body } = await api.send('GET', path, undefined, headers);
    times.push(performance.now() - startedAt);
    if (body.success !== true) throw new Error(`${path}: ${body.message}`);
  }
  const p95 = times.sort((one, other) => one - other)[Math.floor(iterations * 0.95)] ?? 0;
  worst = Math.max(worst, p95);
  console.log(`${path.padEnd(60)} p95 ${p95.toFixed(1).padStart(7)} ms`);
}
console.log(`worst p95 ${worst.toFixed(1)} ms, goal 100 ms`);
await api.close();
