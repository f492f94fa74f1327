/** Files for operators, read by the parsers of others. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { environment as settings } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import {
  container as containerFile,
  hardening,
  launchd as launchdFile,
  type ServiceInput,
  systemd as systemdUnit,
} from '../../cli/commands/site/service.ts';
import { globals } from '../../cli/globals.ts';
import { processSettings, processSettingsText } from '../../cli/process-settings.ts';
import { isOptionKey, optionRow } from '../../server/contract/options.ts';
import { provisionDocument } from '../../server/contract/provision.ts';
import { isProbe } from '../../server/http/health-checks.ts';

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
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
  readonly mem_limit?: string;
  readonly cpus?: number;
  readonly secrets?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<
    Record<string, { readonly ipam: { readonly config: readonly { readonly subnet: string }[] } }>
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
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

test('compose: nodes are alike but for their folders, which outlive them', () => {
  const folders = nodes.map(([, { volumes }]) => volumes);
  expect(folders.map((volumes) => volumes?.slice(0, 2))).toEqual([
    ['gateway-1:/data', 'gateway-1-owed:/owed'],
    ['gateway-2:/data', 'gateway-2-owed:/owed'],
  ]);
  expect(folders[0]?.slice(2)).toEqual(folders[1]?.slice(2));
  const [one, other] = nodes.map(([, { volumes: _own, ...rest }]) => rest);
  expect(one).toEqual(other);
  const { environment = {} } = nodes[0]?.[1] ?? { networks: [], image: '' };
  expect(environment.GATEWAY_OUTBOX).toBe(environment.GATEWAY_DATA_DIR);
  expect(known).toEqual(expect.arrayContaining(Object.keys(environment).map((name) => name.replace(/_FILE$/, ''))));
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
  const required = new Set([...read('container/compose.yaml').matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name));
  const given = [...read('container/compose.env.example').matchAll(/^(\w+)=(.*)$/gm)];
  expect(new Set(given.map(([, name]) => name))).toEqual(required);
  for (const [, name, value] of given) if (name !== 'SITE_ADDRESS') expect(value).toBe('');
});

test('compose and the image ask the executable itself whether it is ready', () => {
  const question = ['gateway', 'service', 'check'];
  for (const [, { healthcheck }] of nodes) expect(healthcheck?.test).toEqual(['CMD', ...question]);
  const command = /^HEALTHCHECK .* CMD (.+)$/m.exec(read('container/Dockerfile'))?.[1] ?? '[]';
  expect(JSON.parse(command)).toEqual(question);
  expect(containerFile({ ...anyFacts, port: '4000' }).file).toMatch(
    /^HEALTHCHECK .* CMD \["gateway", "service", "check"\]$/m,
  );
});

test('compose: nothing fills the disk with logs, or takes the memory and the cores of the others', () => {
  for (const [name, { logging, mem_limit: memory, cpus }] of Object.entries(compose.services)) {
    expect([name, logging?.options['max-size'], Number(logging?.options['max-file']) > 1]).toEqual([name, '10m', true]);
    expect([name, /^\d+[mg]$/.test(memory ?? ''), (cpus ?? 0) > 0]).toEqual([name, true, true]);
  }
});

test('compose: secrets are files that one script makes, once, and none stands in the environment', () => {
  for (const { environment = {} } of Object.values(compose.services))
    expect(
      Object.entries(environment).filter(
        ([name, value]) => /KEY|PASSWORD|URL/.test(name) && /:[^/]+@|\$\{/.test(String(value)),
      ),
    ).toEqual([]);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-compose-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(scripts, 'container'), folder, { recursive: true });
  const make = () => spawnSync('sh', [join(folder, 'make-secrets')]).status;
  const texts = () => Object.values(compose.secrets).map(({ file }) => readFileSync(join(folder, file), 'utf8'));
  expect(make()).toBe(0);
  const first = texts();
  expect(first.every((text) => text.trim().length >= 32)).toBe(true);
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
  const database = new URL(readFileSync(join(folder, 'secrets/database-url'), 'utf8').trim());
  expect(database.password).toBe(readFileSync(join(folder, 'secrets/postgres-password'), 'utf8').trim());
  expect(make()).toBe(0);
  expect(texts()).toEqual(first);
  for (const { secrets = [] } of Object.values(compose.services))
    for (const secret of secrets) expect(Object.keys(compose.secrets)).toContain(secret);
});

test('compose: the proxy is believed, and a backup is made every day into a volume of its own', () => {
  const site = provisionDocument.parse(parse(read('container/site.yaml')));
  const { options = {} } = site;
  const [subnet] = compose.networks.site?.ipam.config ?? [];
  expect(options['general_setting.trusted_proxies']).toBe(subnet?.subnet);
  expect(options['backup_setting.every_hours']).toBe(24);
  for (const [key, value] of Object.entries(options)) {
    const row = isOptionKey(key) ? optionRow(key) : null;
    expect([key, row?.kind.check(String(value))]).toEqual([key, null]);
  }
  const folder = String(options['backup_setting.folder']);
  for (const [, { volumes, environment = {} }] of nodes) {
    expect(volumes).toContain(`backups:${folder}`);
    expect(volumes).toContain(`./site.yaml:${environment.GATEWAY_CONFIG}:ro`);
  }
  expect(read('container/Dockerfile')).toMatch(new RegExp(`install -d -o gateway .*${folder}$`, 'm'));
});

const anyFacts: ServiceInput = {
  program: '/usr/local/bin/gateway',
  dataDir: '/var/lib/gateway',
  isSet: false,
  port: '3000',
  say: (_zh, en) => en,
};

test('the printed unit is as hardened as the template, and neither can take all of the memory', () => {
  const template = read('systemd/gateway@.service').split('\n');
  const printed = systemdUnit(anyFacts).file.split('\n');
  expect(template).toEqual(expect.arrayContaining(hardening.split('\n')));
  const common = ['ProtectHome=yes', 'CapabilityBoundingSet=', 'DynamicUser=yes', 'MemoryMax=80%', 'UMask=0077'];
  for (const unit of [template, printed]) expect(unit).toEqual(expect.arrayContaining(common));
});

test.each([
  ['/root/gateway', true],
  ['/home/ann/my tools/gateway', true],
  ['/tmp/gateway', true],
  ['', true],
  ['/opt/gateway/bin/gateway', false],
])('the printed unit starts an executable that it can see: %s', (program, copied) => {
  const { file, notes } = systemdUnit({ ...anyFacts, program });
  const start = /^ExecStart=(\S+) serve/m.exec(file)?.[1];
  expect(start).toBe(copied ? '/usr/local/bin/gateway' : program);
  const advice = new RegExp(
    `sudo install -m 755 '?${program === '' ? 'dist/gateway' : program}'? /usr/local/bin/gateway`,
  );
  expect([advice.test(file), notes.some((note) => advice.test(note))]).toEqual([copied, copied]);
  for (const text of [file, notes.join()]) expect(text).toContain('sudo gateway --data-dir /var/lib/gateway status');
});

test('paths with spaces, quotes, percent and dollar signs reach systemd, launchd and a shell whole', () => {
  const odd = '/srv/my "data" 50% $HOME/it\'s';
  const { file, notes } = systemdUnit({ ...anyFacts, isSet: true, dataDir: odd, program: '/opt/a b/50%/gateway' });
  expect(file).toContain('ExecStart="/opt/a b/50%%/gateway" serve');
  expect(file).toContain('Environment="GATEWAY_DATA_DIR=/srv/my \\"data\\" 50%% $HOME/it\'s"');
  const [, quoted = ''] = /--data-dir (.+) status/.exec(notes.join()) ?? [];
  expect(spawnSync('bash', ['-c', `printf %s ${quoted}`]).stdout.toString()).toBe(odd);
  expect(launchdFile({ ...anyFacts, dataDir: '/a&b<c' }).file).toContain('<string>/a&amp;b&lt;c</string>');
});

test('a data folder that is named keeps its owner, and one below a home is seen', () => {
  const { file } = systemdUnit({ ...anyFacts, isSet: true, dataDir: '/home/ann/data' });
  expect(file).toMatch(/^User=\d+$/m);
  expect(file).toContain('ProtectHome=read-only\n');
  expect(file).toContain('ReadWritePaths=/home/ann/data\n');
  expect(file).not.toContain('DynamicUser');
});

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'systemd itself finds nothing wrong with the printed units',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-unit-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const details of [anyFacts, { ...anyFacts, isGiven: true, dataDir: '/srv/a b/50%', port: '443' }]) {
      const unit = join(folder, 'gateway.service');
      writeFileSync(unit, systemdUnit({ ...details, program: '/bin/true' }).file);
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit]);
      expect([status, stderr.toString()]).toEqual([0, '']);
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', unit]);
      expect(Number(/exposure level for gateway.service: ([\d.]+)/.exec(stdout.toString())?.[1])).toBeLessThan(5);
    }
  },
);

test('no secret of the operator goes into an image, and nothing built elsewhere', () => {
  const ignored = read('container/Dockerfile.dockerignore').split('\n');
  expect(read('container/Dockerfile')).toContain('COPY . .');
  expect(ignored).toEqual(
    expect.arrayContaining(['**/.env', 'scripts/container/secrets', 'node_modules', '.cache', 'dist']),
  );
  expect(read('container/compose.yaml')).toContain('scripts/container/.env');
});

test('the proxy knows every node and sends nobody to one that is not ready', () => {
  const proxy = read('container/Caddyfile');
  for (const [name] of nodes) expect(proxy).toContain(`${name}:3000`);
  expect(isProbe(/health_uri (\S+)/.exec(proxy)?.[1] ?? '')).toBe(true);
  expect(proxy).toContain('flush_interval -1');
});

test('units and images set what a server would begin once more for', () => {
  expect(read('systemd/gateway@.service')).toContain(`\nEnvironment=${processSettingsText}\nExecStart=`);
  expect(read('container/Dockerfile')).toContain(`\nENV ${processSettingsText}\n`);
  expect(systemdUnit(anyFacts).file).toContain(`\nEnvironment=${processSettingsText}\n`);
  expect(containerFile(anyFacts).file).toContain(`\nENV ${processSettingsText}\n`);
});

test('the unit: systemd finds nothing wrong with it', () => {
  const unit = read('systemd/gateway@.service');
  for (const [, name = ''] of unit.matchAll(/^Environment=(\w+)=/gm))
    expect([...known, ...Object.keys(processSettings)]).toContain(name.replace(/_FILE$/, ''));
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
