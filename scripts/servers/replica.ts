/** A copy of a PostgreSQL server that follows it without being waited for, until it takes its place. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../cli/bench/process.ts';
import type { PostgresServer } from './postgres.ts';

export interface Replica {
  /** Its first process. */
  pid(): number;
  /** It hears nothing more. */
  detach(): Promise<void>;
  /** At the address of the server that it followed, which has to be dead. */
  takeOver(): Promise<void>;
}

let made = 0;

export async function startReplica(server: PostgresServer): Promise<Replica> {
  const data = join(server.folder, `copy${++made}`);
  const log = join(server.folder, 'log');
  await server.run('pg_basebackup', '-D', data, '-R', '-X', 'stream', '-c', 'fast', '-d', server.url);
  await server.run('pg_ctl', '-D', data, '-l', log, '-o', `-p ${freePort()}`, '-w', 'start');
  return {
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
    detach: () => server.run('pg_ctl', '-D', data, '-m', 'fast', '-w', 'stop'),
    async takeOver() {
      // Its master's address is its own from now on.
      appendFileSync(join(data, 'postgresql.auto.conf'), "primary_conninfo = ''\n");
      server.runAs(data);
      await server.run('pg_ctl', '-D', data, '-l', log, '-w', 'start');
      await server.run('pg_ctl', '-D', data, '-w', 'promote');
    },
  };
}
