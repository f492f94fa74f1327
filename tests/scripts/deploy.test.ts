/** Files for operators, read by the parsers of others. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { environment as settings } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import { globals } from '../../cli/globals.ts';
import { isProbe } from '../../server/http/probes.ts';

const scripts = resolve(import.meta.dirname, '../../scripts');
const read = (path: string): string => readFileSync(join(scripts, path), 'utf8');

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks: readonly string[];
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, unknown>>;
}

const compose = parse(read('container/compose.yaml'), { merge: true }) as Compose;
const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith('gateway-'));
const known = settings.map(({ name }) => name);

const files = ['container', 'systemd'].flatMap((folder) =>
  readdirSync(join(scripts, folder)).map((name) => `${folder}/${name}`),
);
const namesIn = (text: string): readonly string[] => text.match(/\b(GATEWAY|DATABASE|REDIS)_[A-Z_]+\b/g) ?? [];

test('whatever a file sets or speaks of, the product reads', () => {
  const code = ['server', 'cli', 'db'].flatMap((folder) => [
    ...new Bun.Glob('**/*.ts').scanSync({ cwd: resolve(scripts, '..', folder), absolute: true }),
  ]);
  const read = new Set(
    code.filter((path) => !path.endsWith('topics.ts')).flatMap((path) => namesIn(readFileSync(path, 'utf8'))),
  );
  const found = files.flatMap((file) => namesIn(readFileSync(join(scripts, file), 'utf8')));
  expect(found.length).toBeGreaterThan(10);
  for (const name of found.map((one) => one.replace(/_FILE$/, ''))) {
    expect(known).toContain(name);
    expect([name, read.has(name)]).toEqual([name, true]);
  }
});

test('every command in them is one, and has its flags', () => {
  const called = files.flatMap((file) => [
    ...readFileSync(join(scripts, file), 'utf8').matchAll(/gateway ([a-z][a-z -]*)/g),
  ]);
  const judged = called.flatMap(([, words = '']) => {
    const row = commands.find(({ name }) => `${words.trim()} `.startsWith(`${name} `));
    if (row === undefined) return [];
    const flags = [...(row.flags ?? []), ...globals].map(({ flag }) => flag);
    const unknown = (words.match(/--[a-z-]+/g) ?? []).filter((one) => !flags.some((flag) => flag.includes(one)));
    return [[row.name, unknown] as const];
  });
  expect(judged.map(([name]) => name)).toEqual(expect.arrayContaining(['serve', 'setup', 'service print']));
  expect(judged.filter(([, unknown]) => unknown.length > 0)).toEqual([]);
  expect(read('container/Dockerfile')).toContain('ENTRYPOINT ["gateway"]\nCMD ["serve"]');
});

/** Seconds: what open requests get by default, and what is owed. */
const ending = 30 + 10;
const secondsOf = (text: string, of: RegExp): number => Number(of.exec(text)?.[1]);

test('a node serves on until the balancer has noticed, and has the time to end before it is killed', () => {
  const delay = Number(nodes[0]?.[1].environment?.GATEWAY_STOP_DELAY);
  const proxy = read('container/Caddyfile');
  const noticed = secondsOf(proxy, /health_interval (\d+)s/) + secondsOf(proxy, /health_timeout (\d+)s/);
  expect(delay).toBeGreaterThan(noticed);
  for (const [, { stop_grace_period: period = '' }] of nodes)
    expect(secondsOf(period, /^(\d+)s$/)).toBeGreaterThanOrEqual(delay + ending);
  const unit = read('systemd/gateway@.service');
  const own = secondsOf(unit, /^Environment=GATEWAY_STOP_DELAY=(\d+)$/m);
  expect(own).toBeGreaterThan(0);
  expect(secondsOf(unit, /^TimeoutStopSec=(\d+)$/m)).toBeGreaterThanOrEqual(own + ending);
});

test('compose: two nodes, PostgreSQL, Valkey and a proxy, each image with its version', () => {
  expect(Object.keys(compose.services)).toEqual(['gateway-1', 'gateway-2', 'postgres', 'valkey', 'proxy']);
  for (const { image } of Object.values(compose.services)) expect(image).toMatch(/^[\w/]+:(?!latest)[\w.-]+$/);
});

test('compose: nodes are alike but for their folder, which outlives them', () => {
  const folders = nodes.map(([, { volumes }]) => volumes);
  expect(folders).toEqual([['gateway-1:/data'], ['gateway-2:/data']]);
  const [one, other] = nodes.map(([, { volumes: _own, ...rest }]) => rest);
  expect(one).toEqual(other);
  const { environment = {} } = nodes[0]?.[1] ?? { networks: [], image: '' };
  expect(environment.GATEWAY_OUTBOX).toBe(environment.GATEWAY_DATA_DIR);
  expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
});

test('compose: whatever is named is there, and whatever is waited for says when it is well', () => {
  for (const { depends_on: needs = {}, networks, volumes = [] } of Object.values(compose.services)) {
    for (const [name, { condition }] of Object.entries(needs)) {
      expect(condition).toBe('service_healthy');
      expect(compose.services[name]?.healthcheck?.test.length).toBeGreaterThan(1);
    }
    for (const name of networks) expect(Object.keys(compose.networks)).toContain(name);
    for (const [source = ''] of volumes.map((volume) => volume.split(':')))
      if (source.startsWith('./')) expect(existsSync(join(scripts, 'container', source))).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
  }
});

test('compose: what it asks the operator for is in the example, and none of it is written down', () => {
  const asked = new Set([...read('container/compose.yaml').matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name));
  const given = [...read('container/compose.env.example').matchAll(/^(\w+)=(.*)$/gm)];
  expect(new Set(given.map(([, name]) => name))).toEqual(asked);
  for (const [, name, value] of given) if (name !== 'SITE_ADDRESS') expect(value).toBe('');
});

test('compose: the question whether a node is ready is understood by a shell', () => {
  const [, shell = '', flag = '', script = ''] = nodes[0]?.[1].healthcheck?.test ?? [];
  expect([shell, flag]).toEqual(['bash', '-c']);
  expect(spawnSync('bash', ['-n', '-c', script]).status).toBe(0);
  // Nobody listens there.
  expect(spawnSync('bash', ['-c', script.replace('3000', '1')]).status).not.toBe(0);
  expect(isProbe(/GET (\S+) /.exec(script)?.[1] ?? '')).toBe(true);
});

test('no secret of the operator goes into an image, and nothing built elsewhere', () => {
  const ignored = read('container/Dockerfile.dockerignore').split('\n');
  expect(read('container/Dockerfile')).toContain('COPY . .');
  expect(ignored).toEqual(expect.arrayContaining(['**/.env', 'node_modules', '.cache', 'dist']));
  expect(read('container/compose.yaml')).toContain('scripts/container/.env');
});

test('the proxy knows every node and sends nobody to one that is not ready', () => {
  const proxy = read('container/Caddyfile');
  for (const [name] of nodes) expect(proxy).toContain(`${name}:3000`);
  expect(isProbe(/health_uri (\S+)/.exec(proxy)?.[1] ?? '')).toBe(true);
  expect(proxy).toContain('flush_interval -1');
});

test('the unit: systemd finds nothing wrong with it', () => {
  const unit = read('systemd/gateway@.service');
  for (const [, name = ''] of unit.matchAll(/^Environment=(\w+)=/gm))
    expect(known).toContain(name.replace(/_FILE$/, ''));
  expect(unit).toContain('StateDirectory=gateway-%i');
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-unit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'gateway@a.service');
  // The program need not be installed here.
  writeFileSync(file, unit.replace('/usr/local/bin/gateway serve', '/bin/true'));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
