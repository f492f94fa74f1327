/** Moves a site until a hundred rows of the log are there, says so and waits to be killed. */
import { writeSync } from 'node:fs';
import { placeOf } from '../../db/place.ts';
import { moveToServer } from '../../server/app/move-database.ts';

const [dataDir = '', url = ''] = process.argv.slice(2);
const server = placeOf(url);
if (server.engine !== 'postgres') throw new Error('no server');
await moveToServer({
  dataDir,
  server,
  batch: 10,
  progress({ step, table, rows }) {
    if (step !== 'copied' || table !== 'logs' || rows < 100) return;
    writeSync(1, 'half-way');
    Bun.sleepSync(600_000);
  },
});
