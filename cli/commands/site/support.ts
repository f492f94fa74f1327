/** What somebody who helps needs to know of a site, in one text without secrets: shown before it is written. */
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, freemem, homedir, platform, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { dataDirFiles } from '../../../server/app/data-dir.ts';
import type { Log } from '../../../server/contract/entities.ts';
import { AppError, formatError } from '../../../server/contract/errors.ts';
import { isOptionKey, optionRow } from '../../../server/contract/options.ts';
import { commit, version } from '../../../server/embedded/version.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { allChannels } from '../channel/fields.ts';
import { findingsOf } from './doctor.ts';

/** Rows of the log that are counted by what became of them. */
const countedRows = 1000;
const megabyte = 1024 * 1024;

/** Variables whose values say how a server runs and nothing else. */
const plainVariables =
  /^(GATEWAY_(PORT|HOST|LANG|RELAYS|LOG_FORMAT|LOG_LEVEL|GRACE|STOP_DELAY|DETACHED|NO_INPUT|ACCESSIBLE)|LANG|LC_ALL|TZ|TERM|NO_COLOR|CI|MIMALLOC_PURGE_DELAY|BUN_CONFIG_MAX_HTTP_REQUESTS)$/;
const ownVariables =
  /^(GATEWAY_|DATABASE_URL|OTEL_|HTTPS?_PROXY$|NO_PROXY$|https?_proxy$|no_proxy$|MIMALLOC_|BUN_|LANG$|LC_ALL$|TZ$|TERM$|CI$)/;

/** Files that the server makes: others may be called after somebody. */
const ownFiles = /^(gateway\.(db|lock|sock)|secret\.key|health\.json|outbox|backups?$|data\.lock)/;

/** Numbers, switches and words of a list say how a site is set up; any other text may say who runs it. */
const plainValue = /^(true|false|-?\d+(\.\d+)?)?$/;

/** In the order of the pairs: a key that has a dot in it must go before what looks like a host. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/\bBearer\s+\S+/gi, 'Bearer ***'],
  [/\b(?:sk|pk|rk|key|gsk|xai|ghp|gho|glpat|ga[st])[-_][\w.-]{8,}|\b(?:AIza|eyJ|AKIA)[\w.-]{12,}/g, '***'],
  [/\b[\w+-]{32,}={0,2}/g, '***'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>)\]]+/gi, '$1***'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '***'],
  [/\b(?!127\.|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b/g, '***'],
  [/\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b/gi, '***'],
  // What an upstream quotes may be a part of a conversation.
  [/(["'`])(?:(?!\1).){12,}\1/g, '$1***$1'],
  [/“[^”]{12,}”/g, '“***”'],
];

/** @param names of channels, hosts and the like, by what stands in their place. */
export function scrubbed(words: string, names: ReadonlyMap<string, string>): string {
  let clean = words.replaceAll(homedir(), '~');
  for (const [name, place] of [...names].toSorted(([one], [other]) => other.length - one.length))
    if (name.length > 1) clean = clean.replaceAll(name, place);
  for (const [pattern, place] of patterns) clean = clean.replace(pattern, place);
  return clean;
}

type Line = readonly [name: string, value: unknown];

interface Section {
  readonly title: string;
  /** Names are ours; values may come from anywhere. */
  readonly lines: readonly Line[];
}

const sizeOf = (bytes: number): string =>
  bytes < megabyte ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / megabyte).toFixed(1)} MB`;

/** What a container allows; '' = there is no limit. */
function cgroupLimit(): string {
  for (const path of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'])
    try {
      const value = Number(readFileSync(path, 'utf8').trim());
      if (Number.isFinite(value) && value < totalmem()) return sizeOf(value);
    } catch {
      // No such file here.
    }
  return '';
}

function machine({ env }: Context): Section {
  const limit = cgroupLimit();
  const memory = `${sizeOf(totalmem())}, ${sizeOf(freemem())} free`;
  const variables = Object.keys(env).filter((name) => ownVariables.test(name) && env[name]);
  return {
    title: 'machine',
    lines: [
      ['gateway', `${version} (${commit})`],
      ['system', `${platform()} ${release()} ${arch()}, Bun ${Bun.version}`],
      ['cpus', `${availableParallelism()} (${cpus()[0]?.model ?? ''})`],
      ['memory', limit === '' ? memory : `${memory}, limit ${limit}`],
      ['container', existsSync('/.dockerenv') || existsSync('/run/.containerenv') ? 'yes' : 'no'],
      ['time', `${new Date().toISOString()}, zone ${Intl.DateTimeFormat().resolvedOptions().timeZone}`],
      ...variables.toSorted().map((name): Line => [name, plainVariables.test(name) ? env[name] : 'set']),
    ],
  };
}

/** Names, sizes and rights: what lies there, and who may read it. */
function files({ dataDir }: Context): Section {
  const names = existsSync(dataDir) ? readdirSync(dataDir).toSorted() : [];
  const ours = names.filter((name) => ownFiles.test(name));
  return {
    title: 'files',
    lines: [
      ['directory', resolve(dataDir)],
      ...ours.map((name): Line => {
        const { mode, size, mtime } = lstatSync(join(dataDir, name));
        return [name, `${(mode & 0o777).toString(8)} ${sizeOf(size)} ${mtime.toISOString()}`];
      }),
      ['others', names.length - ours.length],
    ],
  };
}

async function site(client: Client): Promise<Section> {
  const { setup_code: _code, ...found } = await client.call('status.overview');
  const { version: served } = await client.call('status.get');
  const nodes = (await client.call('node.list')).nodes.map(({ state }) => state).join(', ');
  return {
    title: 'site',
    lines: [
      ['server', served],
      ...Object.entries(found).map(
        ([name, value]): Line => [name, typeof value === 'object' ? JSON.stringify(value) : value],
      ),
      ...(nodes === '' ? [] : [['nodes', nodes] as const]),
    ],
  };
}

/** What differs from a new site; of texts their length. */
async function settings(client: Client): Promise<Section> {
  const all = await client.call('option.list');
  const lines = all.flatMap(({ key, value }): readonly Line[] => {
    if (!isOptionKey(key)) return [];
    const { secret, fallback } = optionRow(key);
    if (secret || value === fallback) return [];
    return [[key, plainValue.test(value) ? value : `${[...value].length} characters`]];
  });
  return { title: 'settings that are not as shipped', lines };
}

async function channels(client: Client): Promise<Section> {
  const [all, types, states] = await Promise.all([
    allChannels(client),
    client.call('channel.types'),
    client.call('traffic.channels'),
  ]);
  const slugs = new Map(types.map(({ type, slug }) => [type, slug]));
  const live = new Map(states.map((one) => [one.id, one]));
  return {
    title: 'channels',
    lines: all.map(({ id, type, status, priority, weight, models, base_url: address, response_time: ms }): Line => {
      const state = live.get(id);
      const facts = [
        `${slugs.get(type) ?? type}${address ? ' (own address)' : ''}`,
        `status ${status}`,
        `priority ${priority ?? 0}, weight ${weight ?? 0}`,
        `${models.split(',').length} models`,
        `last test ${ms} ms`,
        ...(state === undefined ? [] : [`${state.state}, ${state.failed} failed`]),
      ];
      return [`#${id}`, facts.join('; ')];
    }),
  };
}

/** How the last requests ended: by reason and status, never by what was said. */
async function endings(client: Client): Promise<Section> {
  const rows = await client.call('log.tail', { after: -1, limit: countedRows });
  const counts = new Map<string, number>();
  for (const row of rows) {
    const name = endingOf(row);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const lines: readonly Line[] = [...counts].toSorted(([, one], [, other]) => other - one);
  return { title: `last ${rows.length} rows of the log`, lines };
}

function endingOf({ type, end_reason: reason, other, is_stream: streamed }: Log): string {
  const code = /"(?:refused|failure)":"([a-z_]+)"/.exec(other)?.[1] ?? '';
  const status = /"status":(\d{3})/.exec(other)?.[1] ?? '';
  return [reason || `type ${type}`, streamed ? 'stream' : '', code, status].filter((one) => one !== '').join(' ');
}

async function findings(context: Context): Promise<Section> {
  const found = await findingsOf(context);
  return {
    title: 'doctor',
    lines: found.map(({ check, result, detail }): Line => [`${result.padEnd(4)} ${check}`, detail]),
  };
}

/** Names that may stand in what others say, and numbers in their place. */
async function namesOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { id, name, base_url: address } of await allChannels(client)) {
    names.set(name, `channel #${id}`);
    if (address && URL.canParse(address)) names.set(new URL(address).hostname, `host of #${id}`);
  }
  return names;
}

/** A part that cannot be read is told in its place: support is asked for where something is broken. */
async function bundleOf(context: Context): Promise<string> {
  const { language, say } = context;
  const wordsOf = (error: unknown): string =>
    error instanceof AppError ? formatError(error.code, error.params, language) : String(error);
  const part = async (title: string, read: () => Section | Promise<Section>): Promise<Section> => {
    try {
      return await read();
    } catch (error) {
      return { title, lines: [['error', wordsOf(error)]] };
    }
  };
  const ofSite = (title: string, read: (client: Client) => Promise<Section>) =>
    part(title, async () => read(await context.client()));
  const isHere = context.url === '';
  const sections = isHere
    ? [await part('machine', () => machine(context)), await part('files', () => files(context))]
    : [];
  let names: ReadonlyMap<string, string> = new Map();
  // Looking at a site must not make one.
  if (isHere && !context.env.DATABASE_URL && !existsSync(dataDirFiles(context.dataDir).database))
    sections.push({ title: 'site', lines: [['error', say('还没有站点', 'there is no site yet')]] });
  else {
    names = await context
      .client()
      .then(namesOf)
      .catch(() => names);
    sections.push(
      await ofSite('site', site),
      await part('doctor', () => findings(context)),
      await ofSite('channels', channels),
      await ofSite('log', endings),
      await ofSite('settings', settings),
    );
  }
  const head = say(
    '# gateway support：不含密钥、地址、姓名和对话内容；发送前请再看一遍。',
    '# gateway support: no keys, addresses, names or contents of conversations; read it before you send it.',
  );
  const texts = sections.map(({ title, lines }) =>
    [
      `== ${title} ==`,
      ...lines.map(([name, value]) => `${name.padEnd(26)} ${scrubbed(String(value), names)}`.trimEnd()),
    ].join('\n'),
  );
  return `${[head, ...texts].join('\n\n')}\n`;
}

const nameNow = (): string => `gateway-support-${new Date().toISOString().slice(0, 16).replace(/\D/g, '')}.txt`;

export const support: CommandRun = async (context, flags) => {
  const { output, say } = context;
  const path = text(flags.file) ?? nameNow();
  const isWritten = path !== '-' && (context.interactive || flags.file !== undefined);
  if (isWritten && existsSync(path)) throw new AppError('conflict', { what: path });
  const bundle = await context.during(bundleOf(context), () => say('正在收集', 'looking at everything'));
  if (output.format !== 'table') return output.object({ text: bundle }, [], bundle);
  output.raw(bundle);
  if (!isWritten) return;
  if (context.interactive) await context.confirm(say(`写入 ${path}？`, `Write it to ${path}?`));
  writeFileSync(path, bundle, { mode: 0o600, flag: 'wx' });
  output.note(say(`已写入 ${path}`, `written: ${path}`));
};
