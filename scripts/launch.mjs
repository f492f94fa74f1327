// Starts everything from a machine that has only Node and npm: fetches Bun, installs the locked dependencies, runs scripts/<verb>.ts.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const cache = join(root, '.cache');
const windows = process.platform === 'win32';
const say = (text) => process.stderr.write(`${text}\n`);
const fail = (text) => {
  say(text);
  process.exit(1);
};
const parent = process.ppid;
const [verb = 'start', ...args] = process.argv.slice(2);

const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager.split('@')[1];

function isWanted(bun) {
  const run = spawnSync(bun, ['--version'], { encoding: 'utf8' });
  return run.status === 0 && run.stdout.trim() === wanted;
}

function platformPackage() {
  const cpu = process.arch === 'arm64' ? 'aarch64' : 'x64';
  const musl = process.platform === 'linux' && !process.report?.getReport?.().header.glibcVersionRuntime ? '-musl' : '';
  const flags = cpu === 'x64' && process.platform === 'linux' ? readFileSync('/proc/cpuinfo', 'utf8') : 'avx2';
  const old = /\bavx2\b/.test(flags) ? '' : '-baseline';
  return `@oven/bun-${windows ? 'windows' : process.platform}-${cpu}${musl}${old}`;
}

/** The platform package holds the program and needs no install script, which npm may refuse to run. */
function findBun() {
  const given = process.env.GATEWAY_BUN;
  if (given && !isWanted(given)) fail(`GATEWAY_BUN is ${given}, which is not Bun ${wanted}.`);
  for (const candidate of [given, 'bun']) if (candidate && isWanted(candidate)) return candidate;
  const home = join(cache, `bun-${wanted}`);
  const program = join(home, 'bin', windows ? 'bun.exe' : 'bun');
  if (existsSync(program)) return program;
  say(`fetching Bun ${wanted} ...`);
  // No other process writes here while the lock is held: what lies here was left by a run that was killed.
  const draft = `${home}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  // Its cache lies here: a home may be missing or read-only. The path is relative, because of spaces in a Windows shell.
  const options = ['pack', `${platformPackage()}@${wanted}`, '--loglevel=error', '--ignore-scripts', '--cache=../npm'];
  const pack = spawnSync('npm', options, { cwd: draft, encoding: 'utf8', shell: windows });
  const archive = readdirSync(draft).find((name) => name.endsWith('.tgz'));
  const remedy = `Bun could not be fetched. Check the network and npm's registry setting, or set GATEWAY_BUN to a Bun ${wanted}.`;
  if (pack.status !== 0 || !archive) fail(`${pack.stderr ?? pack.error}\n${remedy}`);
  const untar = spawnSync('tar', ['-xzf', archive, '--strip-components=1'], { cwd: draft, encoding: 'utf8' });
  if (untar.status !== 0) fail(`${untar.stderr ?? ''}\ntar could not unpack Bun.`);
  rmSync(join(draft, archive));
  rmSync(home, { recursive: true, force: true });
  renameSync(draft, home);
  return program;
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Removes a dead owner's lock. If another process has taken the lock meanwhile, it is put back. */
function takeAway(lock, owner) {
  const aside = `${lock}.${process.pid}`;
  renameSync(lock, aside);
  if (Number(readFileSync(aside, 'utf8')) !== owner) linkSync(aside, lock);
  rmSync(aside);
}

/** Two first runs at once would install over each other. */
async function locked(work) {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, 'setup.lock');
  for (let tries = 1; ; tries++) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    try {
      const owner = Number(readFileSync(lock, 'utf8'));
      if (tries % 50 === 0) say(`waiting for process ${owner}, which is setting up (${lock}) ...`);
      if (owner > 0 ? !isAlive(owner) : Date.now() - statSync(lock).mtimeMs > 5000) takeAway(lock, owner);
    } catch {
      // Gone while we looked: try again.
    }
    await new Promise((done) => setTimeout(done, 200));
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
  const lockfile = readFileSync(join(root, 'bun.lock'));
  const hash = createHash('sha256').update(lockfile).digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== hash) {
    say('installing dependencies ...');
    const options = ['install', '--frozen-lockfile', '--ignore-scripts', '--silent'];
    const install = spawnSync(bun, options, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    if (install.status !== 0)
      fail('The dependencies could not be installed. Check the network and the registry setting.');
    writeFileSync(stamp, hash);
  }
  return bun;
}

const script = join(root, 'scripts', `${verb}.ts`);
if (!existsSync(script)) fail(`unknown verb ${verb}`);
const bun = await locked(prepare);
const child = spawn(bun, [script, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', ...process.env, GATEWAY_BUN: bun },
});
// The child drains on the first signal and gives up on the second: it must hear each wish once.
let reported = false;
const stop = (signal) => {
  if (!reported) reported = child.kill(signal);
};
process.on('SIGTERM', () => stop('SIGTERM'));
// Detached: the end of the terminal does not stop it.
process.on('SIGHUP', () => process.env.GATEWAY_DETACHED || stop('SIGHUP'));
// The terminal sends Ctrl-C to the whole group; the child decides what it means.
process.on('SIGINT', () => undefined);
/** Parent of a process, 0 where there is no process table. */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

function ancestors() {
  const chain = [process.ppid];
  while (chain.length < 3 && chain.at(-1) > 1) chain.push(parentOf(chain.at(-1)));
  return chain.filter((pid) => pid > 1).join();
}

// Killed outright, npm says nothing, and when a script that started npm is killed, npm hears nothing: when one of them
// is gone, so is the wish to run. npm is watched at once, those before it from the first second on, so that a starter
// that leaves at once does not count.
if (!process.env.GATEWAY_DETACHED) {
  let chain = null;
  setTimeout(() => {
    chain = ancestors();
  }, 1000).unref();
  setInterval(() => {
    if (process.ppid !== parent || (chain !== null && ancestors() !== chain)) stop('SIGTERM');
  }, 500).unref();
}
child.on('error', (error) => fail(String(error)));
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)));
