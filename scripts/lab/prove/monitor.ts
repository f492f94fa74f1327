/** Prometheus itself reads what the gateway says of itself: the text, the rules and every query of the dashboard. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, start, waitForResponse } from '../../../cli/bench/process.ts';
import type { Goal } from '../bench/goal.ts';
import { chunk, double, frame, lastFrames, streamHead, wholeAnswer } from './double.ts';
import { flag, maxGoal, minGoal, openSite, type ProbeSite } from './site.ts';

const configFolder = resolve(import.meta.dirname, '..', '..', 'monitoring');
const rules = join(configFolder, 'alerts.yaml');

interface Query {
  readonly title: string;
  readonly text: string;
}

/** As Grafana sends them where everything is chosen. */
function queries(): readonly Query[] {
  const { panels } = JSON.parse(readFileSync(join(configFolder, 'dashboard.json'), 'utf8')) as {
    panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      text: expr.replaceAll('$__rate_interval', '10s').replace(/\$(?:model|channel)/g, '.*'),
    })),
  );
}

/** @returns what it found wrong, '' = nothing. */
function checked(args: readonly string[], input = ''): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', 'check', ...args], { stdin: Buffer.from(input) });
  return exitCode === 0 ? '' : `${stdout}${stderr}`.trim() || `promtool ended with ${exitCode}`;
}

async function startPrometheus(folder: string, target: number): Promise<string> {
  const port = freePort();
  const config = join(folder, 'prometheus.yml');
  const scrape = { job_name: 'gateway', scrape_interval: '1s', static_configs: [{ targets: [`127.0.0.1:${target}`] }] };
  writeFileSync(
    config,
    JSON.stringify({ global: { evaluation_interval: '1s' }, rule_files: [rules], scrape_configs: [scrape] }),
  );
  const listen = `--web.listen-address=127.0.0.1:${port}`;
  start(null, ['prometheus', `--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, listen]);
  const url = `http://127.0.0.1:${port}`;
  await waitForResponse(`${url}/-/ready`, (status) => status === 200);
  return url;
}

async function requested<Data>(url: string): Promise<Data> {
  const answer = (await (await fetch(url)).json()) as { status: string; error?: string; data: Data };
  if (answer.status !== 'success') throw new Error(answer.error ?? answer.status);
  return answer.data;
}

/** @returns titles of those to which there is no answer. */
async function emptyQueries(prometheus: string): Promise<readonly string[]> {
  const silent: string[] = [];
  for (const { title, text } of queries()) {
    const count = await requested<{ result: readonly unknown[] }>(
      `${prometheus}/api/v1/query?${new URLSearchParams({ query: text })}`,
    ).then(
      ({ result }) => result.length,
      (error: unknown) => {
        console.log(`monitoring: ${title}: ${error}`);
        return 0;
      },
    );
    if (count === 0) silent.push(`${title}: ${text}`);
  }
  return silent;
}

const request = (site: ProbeSite, model: string, stream: boolean) =>
  fetch(`${site.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${site.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] }),
  }).then((response) => response.arrayBuffer());

async function use(site: ProbeSite, ms: number): Promise<void> {
  const over = performance.now() + ms;
  for (let n = 0; performance.now() < over; n++) {
    await Promise.all(['m', 'm', 'failing', 'unknown'].map((model) => request(site, model, n % 2 === 0)));
    await Bun.sleep(100);
  }
}

interface RuleGroups {
  readonly groups: readonly {
    readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
  }[];
}

export async function checkMonitoring(args: readonly string[]): Promise<readonly Goal[]> {
  for (const program of ['prometheus', 'promtool'])
    if (Bun.which(program) === null)
      throw new Error(`${program} is not installed (Debian: apt-get install prometheus)`);
  const seconds = flag(args, '--seconds', 15);
  const well = double((socket, body) =>
    socket.write(
      body.includes('"stream":true')
        ? `${streamHead}${chunk(frame('word '))}${chunk(lastFrames)}0\r\n\r\n`
        : wholeAnswer,
    ),
  );
  const failing = double((socket) => socket.write('HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\n{}'));
  const folder = mkdtempSync(join(tmpdir(), 'gateway-monitoring-'));
  const port = freePort();
  const site = await openSite(
    [
      { name: 'one', url: well.url, models: 'm' },
      { name: 'two', url: failing.url, models: 'failing' },
    ],
    ['--metrics', `127.0.0.1:${port}`],
  );
  try {
    const prometheus = await startPrometheus(folder, port);
    await use(site, seconds * 1000);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const complaints = [checked(['metrics'], text), checked(['rules', rules])].filter((one) => one !== '');
    const silent = await emptyQueries(prometheus);
    const { groups } = await requested<RuleGroups>(`${prometheus}/api/v1/rules`);
    const known = groups.flatMap((group) => group.rules);
    const unhealthy = known.filter(({ health }) => health !== 'ok');
    for (const one of complaints) console.log(`monitoring: ${one}`);
    for (const one of silent) console.log(`monitoring: no answer to ${one}`);
    for (const { name, lastError = '' } of unhealthy) console.log(`monitoring: ${name}: ${lastError}`);
    return [
      minGoal('lines of metrics', text.split('\n').filter((line) => !/^#|^$/.test(line)).length, 50, ''),
      maxGoal('complaints of promtool', complaints.length, 0, ''),
      minGoal('queries of the dashboard', queries().length, 20, ''),
      maxGoal('queries without an answer', silent.length, 0, ''),
      minGoal('rules', known.length, 8, ''),
      maxGoal('rules that do not evaluate', unhealthy.length, 0, ''),
    ];
  } finally {
    site.signal('SIGTERM');
    await site.ended();
    site.remove();
    well.stop();
    failing.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
