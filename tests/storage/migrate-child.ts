/** Migrates a database and is killed at the moment named: `copy`, `apply N`, `done`. */
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';

const [file = '', moment = ''] = process.argv.slice(2);
await migrate(openDatabase(file), {
  report(step) {
    if ((step.kind === 'apply' ? `apply ${step.at}` : step.kind) === moment) process.kill(process.pid, 'SIGKILL');
  },
});
