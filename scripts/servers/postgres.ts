/** A PostgreSQL server of one's own, from the machine's packages: in a folder that goes with it, on a free port, as its own user when we are root. */
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { freePort } from '../../cli/bench/process.ts';

export interface PostgresServer {
  /** Of its administrator, who may create databases. */
  readonly url: string;
  readonly folder: string;
  /** Certificate that it shows. */
  readonly certificate: string;
  /** Its first process, which tests freeze or kill. */
  pid(): number;
  /** @param how as `pg_ctl` says it. */
  stop(how?: 'fast' | 'immediate'): void;
  start(): void;
  /** Ends as after a crash, while the caller goes on with other work. */
  restart(): Promise<void>;
  /** Runs one of its programs as its user. @throws Error with its words. */
  run(program: string, ...args: string[]): Promise<void>;
  /** From now on it is this folder of data that is started and stopped. */
  runAs(data: string): void;
  /** Stops it and removes the folder. */
  remove(): void;
}

const packaged = '/usr/lib/postgresql';

/** @returns folder of its programs, null = not installed. */
export function postgresPrograms(): string | null {
  if (!existsSync(packaged)) return null;
  const versions = readdirSync(packaged).sort((one, other) => Number(other) - Number(one));
  return (
    versions.map((version) => join(packaged, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ?? null
  );
}

/** Connections from other machines are no concern; what is tested is how each way in is reported. */
const access = `hostssl secured all 127.0.0.1/32 scram-sha-256
hostnossl secured all 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
host replication all 127.0.0.1/32 scram-sha-256
`;

const settings = `listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = on
ssl = on
max_connections = 200
log_min_messages = fatal
`;

interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/** The server refuses to run as root. */
function ownUser(): Ids | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(Bun.spawnSync(['id', flag, 'postgres']).stdout.toString());
  return { uid: id('-u'), gid: id('-g') };
}

/** @param more further lines of `postgresql.conf`. @param below where its folder is made. @throws when a program fails, with its words. */
export async function startPostgres(bin: string, more = '', below = tmpdir()): Promise<PostgresServer> {
  const folder = mkdtempSync(join(below, 'gateway-postgres-'));
  let data = join(folder, 'data');
  const user = ownUser();
  const commandOf = (program: string, args: readonly string[]) => {
    const command = [join(bin, program), ...args];
    return user === null ? command : ['runuser', '-u', 'postgres', '--', ...command];
  };
  const run = (program: string, ...args: string[]) => {
    const as = commandOf(program, args);
    const { exitCode, stderr } = Bun.spawnSync(as, { cwd: folder, stdout: 'ignore', stderr: 'pipe' });
    if (exitCode !== 0) throw new Error(`${program}: ${stderr.toString()}`);
  };
  const begin = async (program: string, ...args: string[]): Promise<void> => {
    const said = join(folder, 'said');
    const stdio = ['ignore', 'ignore', Bun.file(said)] as const;
    // What a server that was started this way says goes there as well: a pipe would never end.
    const child = Bun.spawn(commandOf(program, args), { cwd: folder, stdio: [...stdio] });
    if ((await child.exited) !== 0) throw new Error(`${program}: ${await Bun.file(said).text()}`);
  };
  const setOwner = (file: string) => {
    if (user !== null) chownSync(file, user.uid, user.gid);
  };
  setOwner(folder);
  const password = 'a password';
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  setOwner(passwordFile);
  run(
    'initdb',
    '-D',
    data,
    '-U',
    'gateway',
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
  );
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  const certificate = join(folder, 'server.crt');
  for (const [name, text] of [
    [join(data, 'server.crt'), cert],
    [join(data, 'server.key'), key],
    [certificate, cert],
    [join(data, 'pg_hba.conf'), access],
  ] as const) {
    writeFileSync(name, text);
    chmodSync(name, 0o600);
    setOwner(name);
  }
  chmodSync(certificate, 0o644);
  const port = freePort();
  appendFileSync(join(data, 'postgresql.conf'), `${settings}port = ${port}\n${more}\n`);
  const start = () => run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', 'start');
  const stop = (how: 'fast' | 'immediate' = 'fast') => run('pg_ctl', '-D', data, '-m', how, '-w', 'stop');
  start();
  return {
    url: `postgres://gateway:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    folder,
    certificate,
    pid: () => Number(Bun.spawnSync(['head', '-1', join(data, 'postmaster.pid')]).stdout.toString()),
    start,
    stop,
    restart: () => begin('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-m', 'immediate', '-w', 'restart'),
    run: begin,
    runAs(next) {
      data = next;
    },
    remove() {
      try {
        stop('immediate');
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}
