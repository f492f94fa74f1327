/** Moves a site and says how far it is, until somebody kills it. */
import { placeOf } from '../../db/place.ts';
import { moveToServer } from '../../server/moving.ts';

const [dataDir = '', url = ''] = process.argv.slice(2);
const server = placeOf(url);
if (server.engine !== 'postgres') throw new Error('no server');
await moveToServer({
  dataDir,
  server,
  batch: 10,
  progress: ({ step, table, rows }) => process.stdout.write(`${step} ${table} ${rows}\n`),
});
