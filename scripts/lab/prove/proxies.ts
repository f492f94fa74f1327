/**
 * `gateway doctor --url` behind real proxies: faults are planted in nginx, Caddy and HAProxy one at a time, each has to be
 * named, and the lines that it proposes, written into the configuration, have to mend it. Needs the three and `openssl`.
 */
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, start } from '../../../cli/bench/process.ts';
import type { Finding } from '../../../cli/parts/finding.ts';
import type { Goal } from '../bench/goal.ts';
import { minGoal, openSite, siteProgram } from './site.ts';

/** A statement a line; blocks keep their line ends. */
type Statements = readonly string[];

interface Planted {
  readonly check: string;
  /** Words that a good statement begins with, and that are left out. */
  readonly without?: readonly string[];
  readonly plus?: Statements;
  /** The port behind the proxy at which nothing listens. */
  readonly dead?: true;
}

interface Kind {
  readonly name: 'nginx' | 'caddy' | 'haproxy';
  readonly good: Statements;
  readonly faults: readonly Planted[];
  /** Words of a statement that make it the same setting as another of these words. */
  readonly sameWords: (statement: string) => number;
  readonly config: (statements: Statements, place: Place) => string;
  readonly command: (file: string) => readonly string[];
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly upstream: number;
}

const nginx: Kind = {
  name: 'nginx',
  good: [
    'client_max_body_size 64m;',
    'proxy_read_timeout 600s;',
    'proxy_http_version 1.1;',
    'underscores_in_headers on;',
    'proxy_set_header Host $http_host;',
    'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    'proxy_set_header X-Forwarded-Proto $scheme;',
    'proxy_set_header Upgrade $http_upgrade;',
    'proxy_set_header Connection $connection_upgrade;',
    'location / { proxy_pass http://127.0.0.1:UPSTREAM; }',
  ],
  faults: [
    { check: 'streams', plus: ['proxy_ignore_headers X-Accel-Buffering;'] },
    { check: 'silence', without: ['proxy_read_timeout'], plus: ['proxy_read_timeout 2s;'] },
    { check: 'body size', without: ['client_max_body_size'] },
    { check: 'headers', plus: ['proxy_set_header Authorization "";'] },
    { check: 'headers', without: ['underscores_in_headers'] },
    { check: 'host', without: ['proxy_set_header Host'] },
    { check: 'client address', without: ['proxy_set_header X-Forwarded-For'] },
    { check: 'scheme', without: ['proxy_set_header X-Forwarded-Proto'] },
    { check: 'path', without: ['location /'], plus: ['location / { proxy_pass http://127.0.0.1:UPSTREAM/; }'] },
    {
      check: 'errors',
      plus: [
        'proxy_intercept_errors on;',
        'error_page 401 /refused.html;',
        'location = /refused.html { internal; return 200 "<html>"; }',
      ],
    },
    { check: 'sockets', without: ['proxy_set_header Upgrade', 'proxy_set_header Connection'] },
    {
      check: 'compression',
      plus: ['gzip on;', 'gzip_proxied any;', 'gzip_types text/event-stream;', 'gzip_min_length 1;'],
    },
    {
      check: 'methods',
      without: ['location /'],
      plus: ['location / {\n limit_except GET POST { deny all; }\n proxy_pass http://127.0.0.1:UPSTREAM;\n }'],
    },
    {
      check: 'cache',
      plus: ['proxy_cache kept;', 'proxy_cache_valid any 1m;', 'proxy_ignore_headers Cache-Control;'],
    },
    { check: 'reach', dead: true },
  ],
  sameWords: (statement) => (statement.startsWith('proxy_set_header') || statement.startsWith('location') ? 2 : 1),
  config: (statements, { folder, port }) => `
user root;
worker_processes 1;
daemon off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  proxy_cache_path ${folder}/kept keys_zone=kept:1m;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${folder}/cert.pem;
    ssl_certificate_key ${folder}/key.pem;
    ${statements.join('\n    ')}
  }
}`,
  command: (file) => ['nginx', '-c', file],
};

/** Statements of the block of \`reverse_proxy\` begin with \`>\`. */
const caddy: Kind = {
  name: 'caddy',
  good: ['> header_up X-Real-IP {remote_host}'],
  faults: [
    { check: 'silence', plus: ['> transport http {\nresponse_header_timeout 2s\n}'] },
    { check: 'body size', plus: ['request_body {\nmax_size 1MB\n}'] },
    { check: 'headers', plus: ['> header_up -Authorization'] },
    { check: 'headers', plus: ['> header_up -session_id'] },
    { check: 'host', plus: ['> header_up Host gateway.internal'] },
    { check: 'client address', plus: ['> header_up -X-Forwarded-For'] },
    { check: 'scheme', plus: ['> header_up -X-Forwarded-Proto'] },
    { check: 'sockets', plus: ['> header_up -Upgrade'] },
    { check: 'errors', plus: ['> @no status 401', '> handle_response @no {\nrespond "<html>" 401\n}'] },
    { check: 'methods', plus: ['@other method PUT PATCH DELETE', 'respond @other 405'] },
    { check: 'path', plus: ['uri replace %2F /'] },
    { check: 'compression', plus: ['encode gzip {\nminimum_length 1\nmatch {\nheader Content-Type text/*\n}\n}'] },
    { check: 'reach', dead: true },
  ],
  sameWords: (statement) => (/^(> )?header_up/.test(statement) ? 2 : 1),
  config: (statements, { folder, port, upstream }) => `{
  admin off
  auto_https off
  storage file_system ${folder}/caddy
}
https://localhost:${port} {
  bind 127.0.0.1
  tls ${folder}/cert.pem ${folder}/key.pem
  ${statements.filter((one) => !one.startsWith('> ')).join('\n  ')}
  reverse_proxy 127.0.0.1:${upstream} {
    ${statements
      .filter((one) => one.startsWith('> '))
      .map((one) => one.slice(2))
      .join('\n    ')}
  }
}`,
  command: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
};

const haproxy: Kind = {
  name: 'haproxy',
  good: [
    'option forwardfor',
    'option http-no-delay',
    'timeout server 600s',
    'timeout tunnel 3600s',
    'http-request set-header X-Forwarded-Proto https if { ssl_fc }',
  ],
  faults: [
    { check: 'silence', without: ['timeout server'], plus: ['timeout server 2s'] },
    {
      check: 'body size',
      plus: ['http-request deny deny_status 413 if { req.hdr(content-length) -m int gt 1048576 }'],
    },
    { check: 'headers', plus: ['http-request del-header Authorization'] },
    { check: 'headers', plus: ['http-request del-header session_id'] },
    { check: 'host', plus: ['http-request set-header Host gateway.internal'] },
    { check: 'client address', without: ['option forwardfor'] },
    { check: 'scheme', without: ['http-request set-header X-Forwarded-Proto'] },
    { check: 'sockets', plus: ['http-request del-header Upgrade', 'http-request del-header Connection'] },
    {
      check: 'errors',
      plus: ['http-response return status 401 content-type text/html string "<html>" if { status 401 }'],
    },
    { check: 'methods', plus: ['http-request deny deny_status 405 if { method PUT PATCH DELETE }'] },
    { check: 'path', plus: ['http-request replace-path (.*)%2F(.*) \\1/\\2'] },
    // It compresses nothing that says `no-transform`, as streams do.
    { check: 'streams', plus: ['http-response wait-for-body time 10s'] },
    { check: 'reach', dead: true },
  ],
  sameWords: (statement) => (statement.startsWith('http-request set-header') ? 3 : 2),
  config: (statements, { folder, port, upstream }) => `
global
  maxconn 100
defaults
  mode http
  timeout connect 5s
  timeout client 600s
frontend outside
  bind 127.0.0.1:${port} ssl crt ${folder}/both.pem
  default_backend gateway
backend gateway
  ${statements.join('\n  ')}
  server gateway 127.0.0.1:${upstream}
`,
  command: (file) => ['haproxy', '-f', file, '-db'],
};

const head = (statement: string, words: number): string =>
  statement
    .trim()
    .split(/[\s;]+/)
    .slice(0, words)
    .join(' ');

/** The lines that were proposed, written into the configuration as somebody would. */
function applied(kind: Kind, statements: Statements, fix: string): Statements {
  const blocks = blocksOf(fix);
  let now = [...statements];
  for (const block of blocks) {
    const removed = /^# remove (.*)/.exec(block)?.[1];
    if (removed !== undefined) {
      for (const name of removed.split(', ')) now = now.flatMap((one) => without(one, name));
      continue;
    }
    // What stands in the block of the proxy goes there.
    const inner = /^reverse_proxy [^{]*\{\n([\s\S]*)\n\}$/.exec(block)?.[1]?.trim();
    const isInner = inner !== undefined || block.startsWith('header_up');
    const text = (isInner ? `> ${inner ?? block}` : block).replace('127.0.0.1:3000', '127.0.0.1:UPSTREAM');
    const words = kind.sameWords(text) + (isInner ? 1 : 0);
    // A header that is set is not dropped, too.
    const same = (one: string): boolean => head(one, words).replace(' -', ' ') === head(text, words);
    now = [...now.filter((one) => !same(one)), text];
  }
  return now;
}

/** @returns the statement without what is named, or nothing where it is that. */
function without(statement: string, name: string): Statements {
  const wanted = name.replace(/;$/, '').replace(/ ?(\.\.\.|if \{.*|METH.*|"").*$/, '');
  if (statement.replace(/^> /, '').toLowerCase().startsWith(wanted.toLowerCase())) return [];
  if (wanted.startsWith('@matcher') && /^(@other|respond @other)/.test(statement)) return [];
  if (wanted === 'handle_response' && statement.startsWith('> @no')) return [];
  if (wanted === 'http-request set-path' && statement.startsWith('http-request replace-path')) return [];
  return [statement.replace(new RegExp(`\\n ?${wanted} [^\\n]*`), '')];
}

/** Lines of one block belong together. */
function blocksOf(fix: string): readonly string[] {
  const blocks: string[] = [];
  let depth = 0;
  for (const line of fix.split('\n')) {
    if (depth === 0) blocks.push(line);
    else blocks.push(`${blocks.pop() ?? ''}\n${line}`);
    const isSingle = line.startsWith('#') || /\{[^}]*\}/.test(line);
    if (!isSingle) depth += (line.match(/\{/g)?.length ?? 0) - (line.match(/\}/g)?.length ?? 0);
  }
  return blocks;
}

function certificates(folder: string): void {
  const make = ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=localhost'];
  const names = [
    '-addext',
    'subjectAltName=DNS:localhost',
    '-keyout',
    `${folder}/key.pem`,
    '-out',
    `${folder}/cert.pem`,
  ];
  Bun.spawnSync([...make, ...names]);
  Bun.spawnSync(['sh', '-c', `cat ${folder}/cert.pem ${folder}/key.pem > ${folder}/both.pem`]);
}

async function findingsOf(kind: Kind, statements: Statements, place: Place): Promise<readonly Finding[]> {
  const file = join(place.folder, 'config');
  writeFileSync(file, kind.config(statements, place).replaceAll('UPSTREAM', String(place.upstream)));
  const log = openSync(join(place.folder, 'log'), 'w');
  const proxy = start(null, kind.command(file), {}, log);
  const url = `https://localhost:${place.port}`;
  try {
    await listens(place.port, join(place.folder, 'log'));
    const look = [
      ...siteProgram,
      'doctor',
      '--url',
      url,
      '--silence',
      '3',
      '--proxy',
      kind.name,
      '--json',
      '--lang',
      'en',
    ];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(place.folder, 'cert.pem'), HOME: place.folder };
    const child = Bun.spawn(look, { env, stderr: 'pipe', stdout: 'pipe' });
    const text = await new Response(child.stdout).text();
    return (JSON.parse(text) as Finding[]).filter(({ result }) => result !== 'ok');
  } finally {
    proxy.kill();
    await proxy.exited;
  }
}

async function listens(port: number, log: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const open = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).catch(() => null);
    open?.end();
    if (open !== null) return;
    await Bun.sleep(25);
  }
  throw new Error(`nothing listens on ${port}: ${readFileSync(log, 'utf8')}`);
}

const namesOf = (findings: readonly Finding[]): string =>
  findings.map(({ check, detail }) => `${check} (${detail})`).join(', ') || 'nothing';

export async function proxiesBetween(names: readonly string[] = []): Promise<readonly Goal[]> {
  const site = await openSite([]);
  await site.run(['option', 'set', 'general_setting.trusted_proxies=127.0.0.1']);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-proxies-'));
  certificates(folder);
  const goals: Goal[] = [];
  try {
    for (const kind of [nginx, caddy, haproxy].filter(({ name }) => names.length === 0 || names.includes(name))) {
      const own = join(folder, kind.name);
      mkdirSync(own);
      for (const name of ['cert.pem', 'key.pem', 'both.pem'])
        await Bun.write(join(own, name), Bun.file(join(folder, name)));
      const place = (): Place => ({ folder: own, port: freePort(), upstream: site.port });
      const clean = await findingsOf(kind, kind.good, place());
      console.log(`${kind.name}, nothing planted: ${namesOf(clean)}`);
      let named = 0;
      let fixed = 0;
      for (const { check, without: left = [], plus = [], dead } of kind.faults) {
        const kept = kind.good.filter((one) => !left.some((words) => one.startsWith(words)));
        const planted = [...kept, ...plus];
        const found = await findingsOf(kind, planted, dead === true ? { ...place(), upstream: freePort() } : place());
        const [first] = found;
        const isNamed = found.some((one) => one.check === check);
        if (isNamed) named++;
        const rest = dead === true ? [] : await findingsOf(kind, applied(kind, planted, first?.fix ?? ''), place());
        if (isNamed && rest.length === 0) fixed++;
        console.log(
          `${kind.name}: ${[...plus, ...left.map((one) => `without ${one}`)].join(' ').replaceAll('\n', ' ') || 'nothing behind it'}`,
        );
        console.log(`  named: ${namesOf(found)}; fixed: ${rest.length === 0 ? 'yes' : namesOf(rest)}`);
      }
      const all = kind.faults.length;
      goals.push(minGoal(`${kind.name}, clean`, clean.length === 0 ? 1 : 0, 1, ''));
      goals.push(minGoal(`${kind.name}, faults named`, named, all, 'faults'));
      goals.push(minGoal(`${kind.name}, faults fixed`, fixed, all, 'faults'));
    }
  } finally {
    site.signal('SIGTERM');
    await site.ended();
    site.remove();
    rmSync(folder, { recursive: true, force: true });
  }
  return goals;
}
