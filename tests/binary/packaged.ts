/** Runs the executable as a packaging file says it: its user, its mounts and its environment, in a mount namespace of its own and on a small disk. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../..');
const built = join(root, 'dist/gateway');
const installed = '/usr/local/bin/gateway';

export interface Packaging {
  /** Argument list of the server, its first member the path of the executable. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** 0 = root. */
  readonly uid: number;
  /** Folders that are written, and outlive the process: they lie on one small disk. */
  readonly kept: readonly string[];
  /** Folders that are empty and in memory at each start. */
  readonly temporary: readonly string[];
  /** All else can be read alone. */
  readonly isReadOnly: boolean;
}

/** A user that nobody else is, as `DynamicUser` takes one. */
const dynamicUid = 61_234;

const valuesOf = (unit: string, name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

/** What a systemd unit says, read from its text. */
export function unitPackaging(unit: string): Packaging {
  const says = (line: string): boolean => new RegExp(`^${line}$`, 'm').test(unit);
  const pairs = valuesOf(unit, 'Environment')
    .flatMap((line) => line.split(' '))
    .map((pair) => pair.split('=', 2) as [string, string]);
  const user = valuesOf(unit, 'User')[0];
  return {
    command: (valuesOf(unit, 'ExecStart')[0] ?? '').split(' '),
    env: { ...Object.fromEntries(pairs), HOME: '/' },
    uid: says('DynamicUser=yes') ? dynamicUid : Number(user),
    kept: [
      ...valuesOf(unit, 'StateDirectory').flatMap((names) => names.split(' ').map((name) => `/var/lib/${name}`)),
      ...valuesOf(unit, 'ReadWritePaths'),
    ],
    temporary: [
      ...(says('PrivateTmp=yes') ? ['/tmp', '/var/tmp'] : []),
      ...(says('ProtectHome=yes') ? ['/home', '/root'] : []),
    ],
    isReadOnly: says('ProtectSystem=strict'),
  };
}

interface ComposeService {
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly read_only?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** What a service of a compose file says, with the image's own environment and command. */
export function composePackaging(dockerfile: string, service: ComposeService): Packaging {
  const last = dockerfile.slice(Math.max(0, dockerfile.lastIndexOf('\nFROM ')));
  const pairs = [...last.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  const volumes = (service.volumes ?? []).map((volume) => volume.split(':')[1] ?? '');
  return {
    command: [installed, 'serve'],
    env: {
      ...Object.fromEntries(pairs.map((pair) => pair.split('=', 2))),
      ...service.environment,
      HOME: '/home/gateway',
    },
    uid: dynamicUid,
    kept: volumes,
    temporary: service.tmpfs ?? [],
    isReadOnly: service.read_only === true,
  };
}

export const composeFile = (name: string): { readonly services: Readonly<Record<string, ComposeService>> } =>
  parse(readFileSync(join(root, 'scripts/container', name), 'utf8')) as ReturnType<typeof composeFile>;
export const dockerfile = (): string => readFileSync(join(root, 'scripts/container/Dockerfile'), 'utf8');

/** Whether this machine lets a test have mounts of its own. */
export const canMount = (): boolean =>
  process.platform === 'linux' &&
  spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0 &&
  spawnSync('setpriv', ['--reuid', '1', '--clear-groups', 'true']).status === 0;

/** @param megabytes size of the disk. */
export function createMachine({ command, env, uid, kept, temporary, isReadOnly }: Packaging, megabytes: number) {
  if (!existsSync(built)) throw new Error('dist/gateway is missing: npm run build');
  const dir = mkdtempSync(join(tmpdir(), 'gateway-packaged-'));
  // Everybody's: the script below is read by the service's user.
  chmodSync(dir, 0o755);
  // Outlives each start, as a disk does.
  const disk = '/mnt';
  const holder = Bun.spawn(
    [
      ...['unshare', '-m', 'bash', '-c'],
      `set -e
mount --make-rprivate /
mount -t tmpfs -o size=1m,mode=755 none /usr/local/bin
touch ${installed}
mount --bind ${built} ${installed}
mount -t tmpfs -o size=${megabytes}m,mode=755 none ${disk}
${kept.map((_, at) => `mkdir -m 700 ${disk}/${at}; chown ${uid}:${uid} ${disk}/${at}`).join('\n')}
echo ready
exec sleep 600`,
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  // A folder that the machine lacks is made where only this namespace sees it.
  const parents = [...new Set(kept.map((path) => resolve(path, '..')))];
  const start = join(dir, 'start');
  writeFileSync(
    start,
    `set -e
mount --make-rprivate /
# What stands at the root cannot be made there without being seen outside: the root is a copy in memory.
mkdir -p ${dir}/root
mount -t tmpfs -o mode=755 none ${dir}/root
for path in /*; do
  if [ -L "$path" ]; then cp -P "$path" ${dir}/root/; continue; fi
  [ -d "$path" ] || continue
  mkdir -p ${dir}/root"$path"
  mount --rbind "$path" ${dir}/root"$path"
done
${parents
  .filter((parent) => parent !== '/')
  .map((parent) => `mount -t tmpfs -o mode=755 none ${dir}/root${parent}`)
  .join('\n')}
${kept.map((path, at) => `mkdir -p ${dir}/root${path}; mount --bind ${disk}/${at} ${dir}/root${path}`).join('\n')}
${isReadOnly ? `for path in ${dir}/root ${dir}/root/usr ${dir}/root/etc ${dir}/root/var ${dir}/root/opt ${dir}/root/home; do [ -d "$path" ] && mount -o remount,bind,ro "$path"; done` : ''}
${temporary.map((path) => `[ -d ${dir}/root${path} ] && mount -t tmpfs -o mode=1777 none ${dir}/root${path}`).join('\n')}
exec chroot ${dir}/root setpriv --reuid ${uid} --regid ${uid} --clear-groups --no-new-privs "$@"
`,
  );
  const inside = (args: readonly string[], more: Readonly<Record<string, string>> = {}): string[] => [
    ...['nsenter', '-t', String(holder.pid), '-m', 'unshare', '-m', 'bash', start, 'env', '-i'],
    ...Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', TERM: 'dumb', LANG: 'C', ...env, ...more }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    ...args,
  ];
  const children = new Set<Bun.Subprocess>();
  const onDisk = (script: string) =>
    spawnSync('nsenter', ['-t', String(holder.pid), '-m', 'bash', '-c', `cd ${disk}; ${script}`], { encoding: 'utf8' });

  return {
    async ready(): Promise<void> {
      const reader = holder.stdout.getReader();
      const { done } = await reader.read();
      reader.releaseLock();
      if (done) throw new Error(await new Response(holder.stderr).text());
    },
    /** Runs a command of the executable as the service's user. @throws its standard error where it fails. */
    async run(args: readonly string[], input = ''): Promise<string> {
      const child = Bun.spawn(inside([installed, ...args]), {
        ...{ stdin: new Blob([input]), stdout: 'pipe', stderr: 'pipe' },
      });
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`);
      return out.trim();
    },
    /** Starts the server by the packaging's own command, on a free port. */
    async serve(more: Readonly<Record<string, string>> = {}) {
      const [program = '', ...args] = command;
      const own = args.includes('--port') ? args.with(args.indexOf('--port') + 1, '0') : [...args, '--port', '0'];
      const child = Bun.spawn(inside([program, ...own], more), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
      children.add(child);
      let said = '';
      void (async () => {
        for await (const chunk of child.stderr) said += new TextDecoder().decode(chunk);
      })();
      const reader = child.stdout.getReader();
      let text = '';
      while (!text.includes('\n')) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`ended early: ${said}`);
        text += new TextDecoder().decode(value);
      }
      reader.releaseLock();
      const url = (text.split('\n')[0] ?? '').replace('URL: ', '').replace('0.0.0.0', '127.0.0.1');
      return { url, child, said: () => said };
    },
    /** Takes all room that is left. */
    fill: () =>
      onDisk(
        'dd if=/dev/zero of=full bs=64k 2>/dev/null; dd if=/dev/zero of=full2 bs=1 count=70000 2>/dev/null; df --output=avail . | tail -n 1',
      ),
    /** Gives the reserved files to somebody else: what is owed finds no room at all. */
    takeReserve: () =>
      onDisk('ls */gateway.reserve-* | while read name; do mv "$name" "full-$(basename "$name")"; done'),
    makeRoom: () => onDisk('rm -f full*'),
    files: () => onDisk('find . -type f').stdout.trim().split('\n'),
    async close(): Promise<void> {
      for (const child of children) child.kill('SIGKILL');
      holder.kill('SIGKILL');
      await Promise.all([...children, holder].map((child) => child.exited));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export type Machine = ReturnType<typeof createMachine>;
