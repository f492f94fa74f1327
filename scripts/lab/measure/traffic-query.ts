/** How long figures of traffic take to read from a year of days of 200 channels with 50 models each. `bun scripts/lab/measure/traffic-query.ts [FOLDER]` */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../db/migrate.ts';
import { openDatabase } from '../../../db/open.ts';
import { trafficCounters } from '../../../server/contract/traffic.ts';
import { createTraffic, type TrafficQuery } from '../../../server/domain/traffic/service.ts';

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'traffic-'));
const database = openDatabase(join(folder, 'gateway.db'));
await migrate(database);
const days = 365;
const day = 86_400;
const today = Math.floor(Date.now() / 1000 / day) * day;
const columns = trafficCounters.join(', ');
const values = trafficCounters.map((_, at) => (at % 3 === 0 ? '17' : at % 3 === 1 ? '1234' : '0')).join(', ');

const fill = (kind: string, subjects: number, parts: number): void => {
  const subject = subjects === 0 ? '0' : 's.value';
  const part = parts === 0 ? "''" : "'model-' || p.value";
  database.raw.exec(`WITH RECURSIVE
    d(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM d WHERE value < ${days - 1}),
    s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < ${Math.max(1, subjects)}),
    p(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM p WHERE value < ${Math.max(1, parts)})
    INSERT INTO traffic (span, kind, at, subject_id, user_id, part, ${columns})
    SELECT ${day}, '${kind}', ${today} - d.value * ${day}, ${subject}, ${kind === 'token' || kind === 'use' ? '1 + s.value % 50' : '0'}, ${part}, ${values} FROM d, s, p`);
};
database.raw.pragma('synchronous = OFF');
const started = performance.now();
fill('all', 0, 0);
fill('channel', 200, 0);
fill('model', 0, 50);
fill('route', 200, 50);
fill('token', 500, 0);
database.raw.pragma('wal_checkpoint(TRUNCATE)');
const rows = database.raw.prepare<number>('SELECT count(*) FROM traffic').pluck().get();
console.log(`${rows} rows by the day in ${Math.round((performance.now() - started) / 1000)} s`);

const traffic = createTraffic({ database, now: Date.now });
const queries: readonly (readonly [string, TrafficQuery])[] = [
  ['overview, by day', { range: '90d' }],
  ['by channel, sums', { range: '90d', by: 'channel', points: false }],
  ['by channel, each day', { range: '90d', by: 'channel' }],
  ['by model, each day', { range: '90d', by: 'model' }],
  ['models of a channel, each day', { range: '90d', by: 'model', channel: 77 }],
  ['channels of a model, sums', { range: '90d', by: 'channel', model: 'model-7', points: false }],
  ['by key, sums', { range: '90d', by: 'token', points: false }],
  ['by key, each day', { range: '90d', by: 'token', limit: 50 }],
  ['by user, each day', { range: '90d', by: 'user', limit: 50 }],
];
for (const [name, query] of queries) {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let run = 0; run < 7; run++) {
    const start = performance.now();
    await traffic(query, null);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / 1000 / times.length;
  console.log(
    `${name.padEnd(32)} median ${(times[3] ?? 0).toFixed(0)} ms, most ${(times[6] ?? 0).toFixed(0)} ms, processor ${cpu.toFixed(0)} ms`,
  );
}
await database.close();
rmSync(folder, { recursive: true, force: true });
