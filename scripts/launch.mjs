// Starts everything from a machine that has only Node and npm: fetches Bun, installs the locked dependencies, runs scripts/<verb>.ts.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const cache = join(root, '.cache');
const windows = process.platform === 'win32';
const say = (text) => process.stderr.write(`${text}\n`);
const [verb = 'start', ...args] = process.argv.slice(2);

const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager.split('@')[1];

function isWanted(bun) {
  const run = spawnSync(bun, ['--version'], { encoding: 'utf8' });
  return run.status === 0 && run.stdout.trim() === wanted;
}

function platformPackage() {
  const os = windows ? 'windows' : process.platform;
  const cpu = process.arch === 'arm64' ? 'aarch64' : 'x64';
  const musl = process.platform === 'linux' && !process.report?.getReport?.().header.glibcVersionRuntime ? '-musl' : '';
  const old =
    cpu === 'x64' && process.platform === 'linux' && !/\bavx2\b/.test(readFileSync('/proc/cpuinfo', 'utf8'))
      ? '-baseline'
      : '';
  return `@oven/bun-${os}-${cpu}${musl}${old}`;
}

/** The platform package holds the program and needs no install script, which npm may refuse to run. */
function findBun() {
  for (const candidate of [process.env.GATEWAY_BUN, 'bun']) if (candidate && isWanted(candidate)) return candidate;
  const home = join(cache, `bun-${wanted}`);
  const program = join(home, 'bin', windows ? 'bun.exe' : 'bun');
  if (existsSync(program)) return program;
  say(`fetching Bun ${wanted} ...`);
  const draft = `${home}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  const pack = spawnSync('npm', ['pack', `${platformPackage()}@${wanted}`, '--silent'], {
    cwd: draft,
    encoding: 'utf8',
    shell: windows,
  });
  const archive = readdirSync(draft).find((name) => name.endsWith('.tgz'));
  if (pack.status !== 0 || !archive)
    fail(
      `${pack.stderr}\nBun could not be fetched. Check the network and npm's registry setting, or set GATEWAY_BUN to a Bun ${wanted}.`,
    );
  const untar = spawnSync('tar', ['-xzf', archive, '--strip-components=1'], { cwd: draft });
  if (untar.status !== 0) fail('tar could not unpack Bun.');
  rmSync(join(draft, archive));
  rmSync(home, { recursive: true, force: true });
  renameSync(draft, home);
  return program;
}

function fail(text) {
  say(text);
  process.exit(1);
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Two first runs at once would install over each other. */
async function locked(work) {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, 'setup.lock');
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch {
      const owner = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0;
      const stale = owner > 0 ? !isAlive(owner) : existsSync(lock) && Date.now() - statSync(lock).mtimeMs > 5000;
      if (stale) rmSync(lock, { force: true });
      else await new Promise((done) => setTimeout(done, 200));
    }
  }
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function prepare() {
  const bun = findBun();
  const stamp = join(root, 'node_modules', '.gateway-installed');
  const hash = createHash('sha256')
    .update(readFileSync(join(root, 'bun.lock')))
    .digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== hash) {
    say('installing dependencies ...');
    const install = spawnSync(bun, ['install', '--frozen-lockfile', '--ignore-scripts', '--silent'], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (install.status !== 0)
      fail('The dependencies could not be installed. Check the network and the registry setting.');
    writeFileSync(stamp, hash);
  }
  return bun;
}

const bun = await locked(prepare);
const script = join(root, 'scripts', `${verb}.ts`);
if (!existsSync(script)) fail(`unknown verb ${verb}`);
const child = spawn(bun, [script, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', ...process.env, GATEWAY_BUN: bun },
});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// The terminal sends Ctrl-C to the whole group; the child decides what it means.
process.on('SIGINT', () => undefined);
// npm does not carry SIGTERM through its shell: when the parent is gone, so is the wish to run.
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid !== parent) child.kill('SIGTERM');
}, 500);
watch.unref();
child.on('exit', (code, signal) => {
  const numbers = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };
  process.exit(code ?? 128 + (numbers[signal] ?? 1));
});
