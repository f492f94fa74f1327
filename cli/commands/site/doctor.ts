/** Everything that commonly goes wrong, one line each with its remedy. */
import { accessSync, chmodSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dataDirFiles, lockOwner } from '../../../server/app/data-dir.ts';
import { AppError, formatError } from '../../../server/contract/errors.ts';
import { maxPricesAge } from '../../../server/contract/pricing/defaults.ts';
import { reasonIn } from '../../../server/contract/storage-reasons.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { announcedAddress } from '../../parts/access.ts';
import { type Finding, ok, wrong } from '../../parts/finding.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { type ProxyName, proxies } from '../../parts/proxy-lines.ts';
import { failureLine } from '../../parts/top.ts';
import { allChannels, testErrorOf } from '../channel/fields.ts';

const minFreeBytes = 1 << 30;
const readableByOthers = 0o077;

/** Everything secret in the folder is for its owner alone. @returns what was changed. */
function repair({ dataDir }: Context): string[] {
  const { dir, secretKey, database } = dataDirFiles(dataDir);
  return [dir, secretKey, ...['', '-wal', '-shm', '.journal-1', '.journal-2'].map((end) => database + end)].filter(
    (path) => {
      if (!existsSync(path) || (statSync(path).mode & readableByOthers) === 0) return false;
      chmodSync(path, statSync(path).mode & ~readableByOthers);
      return true;
    },
  );
}

function folder({ dataDir, say }: Context): Finding {
  if (!existsSync(dataDir))
    return wrong('data directory', 'warn', say(`${dataDir} 尚不存在`, `${dataDir} is not there yet`), 'gateway setup');
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    const detail = say(`${dataDir} 不可写`, `${dataDir} cannot be written`);
    return wrong('data directory', 'fail', detail, `chown -R "$USER" ${dataDir}`);
  }
  const { secretKey } = dataDirFiles(dataDir);
  if (existsSync(secretKey) && (statSync(secretKey).mode & readableByOthers) !== 0)
    return wrong(
      'data directory',
      'fail',
      say(`其他用户可读 ${secretKey}`, `others may read ${secretKey}`),
      `chmod 600 ${secretKey}`,
    );
  return ok('data directory', dataDir);
}

function disk({ dataDir, say }: Context): Finding {
  if (!existsSync(dataDir)) return ok('disk', '');
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const gigabytes = (free / 1e9).toFixed(1);
  const detail = say(`剩余 ${gigabytes} GB`, `${gigabytes} GB free`);
  return free < minFreeBytes ? wrong('disk', 'warn', detail, 'gateway logs prune --before 90d') : ok('disk', detail);
}

async function server(context: Context): Promise<Finding> {
  const { say } = context;
  if (context.url !== '') return ok('server', context.url);
  const pid = lockOwner(dataDirFiles(context.dataDir));
  if (pid === null) return wrong('server', 'warn', say('未运行', 'not running'), 'gateway serve');
  const { relays } = await (await context.client()).call('status.overview');
  const threads = relays === undefined ? '' : say(`，转发线程 ${relays}`, `, relay threads ${relays}`);
  return ok('server', `${say('进程', 'process')} ${pid}${threads}`);
}

async function database(context: Context): Promise<readonly Finding[]> {
  const { schema, problems, advice = [] } = await (await context.client()).call('local.check');
  const [problem] = problems;
  return [
    problem === undefined ? ok('database', schema) : wrong('database', 'fail', problem, 'gateway backup restore FILE'),
    ...advice.map((one) => ({ ...one, check: `database ${one.check}` })),
  ];
}

const pathnameOf = (url: string): string => (URL.parse(url)?.pathname ?? '').replace(/\/+$/, '');

/**
 * Behind a proxy that is not declared all callers are one address: for limits of connections and for wrong passwords.
 * Links in mails and callbacks of sign-in are made from ServerAddress.
 */
async function proxy(context: Context): Promise<Finding> {
  const client = await context.client();
  const { undeclared_proxy: address = '' } = await client.call('local.check');
  const stored = (await client.call('option.list')).find(({ key }) => key === 'ServerAddress')?.value ?? '';
  const announced = announcedAddress(context.dataDir);
  const basePath = pathnameOf(announced ?? '');
  if (announced !== null && address === '' && stored !== '' && pathnameOf(stored) !== basePath)
    return wrong(
      'proxy',
      'warn',
      context.say(
        `本站在路径 ${basePath || '/'} 下提供，而 ServerAddress 是 ${stored}`,
        `the site is served under ${basePath || '/'}, and ServerAddress is ${stored}`,
      ),
      `gateway option set ServerAddress=${URL.parse(stored)?.origin ?? 'https://...'}${basePath}`,
    );
  return address === ''
    ? ok('proxy', '')
    : wrong(
        'proxy',
        'warn',
        context.say(
          `来自 ${address} 的请求带有 X-Forwarded-For，但它不是受信任的代理：其后的所有客户端被视为同一地址`,
          `requests from ${address} carry X-Forwarded-For, but it is no trusted proxy: all clients behind it count as one address`,
        ),
        `gateway option set general_setting.trusted_proxies=${address}`,
      );
}

async function ledger(context: Context): Promise<Finding> {
  const broken = (await (await context.client()).call('ledger.verify')).filter((report) => report.violations > 0);
  const names = broken.map((report) => report.id).join(', ');
  return broken.length === 0 ? ok('ledger', '') : wrong('ledger', 'fail', names, 'gateway ledger verify');
}

async function channels(context: Context): Promise<Finding> {
  const { say } = context;
  const found = await allChannels(await context.client());
  if (found.length === 0) return wrong('channels', 'warn', say('尚无渠道', 'none'), 'gateway channel add');
  const off = found.filter((channel) => channel.status === 3).map((channel) => channel.name);
  const failing = found.filter((channel) => channel.status === 1 && testErrorOf(channel) !== '');
  const [first] = failing;
  if (first !== undefined)
    return wrong(
      'channels',
      'fail',
      failing.map((channel) => `${channel.name}: ${storedIn(testErrorOf(channel), context.language)}`).join('; '),
      `gateway channel test ${first.name}`,
    );
  return off.length === 0
    ? ok('channels', String(found.length))
    : wrong(
        'channels',
        'warn',
        `${say('已自动禁用：', 'disabled: ')}${off.join(', ')}`,
        `gateway channel test ${off[0]}`,
      );
}

/** What real requests say of the channels, whatever their last test said. */
async function traffic(context: Context): Promise<Finding> {
  const states = await (await context.client()).call('traffic.channels');
  const failing = states.filter(({ state }) => state === 'failing');
  const [first] = failing;
  if (first !== undefined)
    return wrong(
      'traffic',
      'fail',
      failing.map((one) => failureLine(one, context)).join('; '),
      `gateway channel test ${first.name}`,
    );
  const slow = states.filter(({ state }) => state === 'slow').map(({ name }) => name);
  return slow.length === 0
    ? ok('traffic', '')
    : wrong('traffic', 'warn', `${context.say('缓慢：', 'slow: ')}${slow.join(', ')}`, 'gateway top');
}

async function prices(context: Context): Promise<Finding> {
  const { say } = context;
  const client = await context.client();
  const models = await client.call('channel.models_enabled');
  const unset = await client.call('ratio.unset');
  const { prices_as_of: day, prices_age_days: age, prices_proposed: waiting } = await client.call('status.overview');
  const shipped = typeof day === 'string' ? say(`，随附价格 ${day}`, `, shipped prices of ${day}`) : '';
  if (unset.length === 0 && typeof age === 'number' && age > maxPricesAge)
    return wrong(
      'prices',
      'warn',
      say(`随附价格为 ${day}，已 ${age} 天`, `the shipped prices are of ${day}, ${age} days old`),
      'gateway upgrade',
    );
  if (unset.length === 0 && typeof waiting === 'number' && waiting > 0)
    return wrong(
      'prices',
      'warn',
      say(`${waiting} 个模型有新价格等待确认`, `newer prices of ${waiting} models wait for your word`),
      'gateway ratios proposals list',
    );
  return unset.length === 0
    ? ok('prices', say(`${models.length} 个模型${shipped}`, `${models.length} models${shipped}`))
    : wrong(
        'prices',
        'warn',
        `${say('未设置：', 'unset: ')}${unset.join(', ')}`,
        `gateway ratios set ModelRatio ${unset[0]}=RATIO`,
      );
}

/** Targets that nobody serves, and names that a channel has as well: a request for one goes over the chain. */
async function chains(context: Context): Promise<readonly Finding[]> {
  const client = await context.client();
  const models = await client.call('virtual_model.list');
  if (models.length === 0) return [];
  const served = new Set(await client.call('channel.models_enabled'));
  const names = new Set(models.map(({ name }) => name));
  const shared = models.filter(({ name }) => served.has(name)).map(({ name }) => name);
  const fix = 'gateway model chain list';
  if (shared.length > 0) {
    const words = context.say('渠道中有同名模型：', 'channels have models of the same name: ');
    return [wrong('chains', 'fail', words + shared.join(', '), fix)];
  }
  const missing = models
    .filter(({ enabled }) => enabled)
    .flatMap(({ name, targets }) =>
      targets.filter(({ model }) => !served.has(model) && !names.has(model)).map(({ model }) => `${name} → ${model}`),
    );
  if (missing.length === 0)
    return [ok('chains', context.say(`${models.length} 个虚拟模型`, `${models.length} virtual models`))];
  const words = context.say('没有渠道提供的目标：', 'targets that no channel serves: ');
  return [wrong('chains', 'warn', words + missing.join(', '), fix)];
}

/** Keys that are limited to channels of which none is in use: they never fall back to others. */
async function keys(context: Context): Promise<readonly Finding[]> {
  const { say } = context;
  const bound = await (await context.client()).call('token.bound', { all: true });
  if (bound.length === 0) return [];
  const stopped = bound.filter(({ enabled }) => enabled.length === 0);
  const [first] = stopped;
  if (first === undefined)
    return [ok('keys', say(`${bound.length} 个令牌绑定了渠道`, `${bound.length} limited to channels`))];
  const names = [
    ...stopped.slice(0, maxKeysNamed).map(({ name, id }) => name || `#${id}`),
    ...(stopped.length > maxKeysNamed ? ['…'] : []),
  ];
  const detail = say(
    `绑定的渠道已全部删除或禁用：${names.join('、')}`,
    `every channel that they are limited to is gone or disabled: ${names.join(', ')}`,
  );
  return [wrong('keys', 'warn', detail, `gateway token edit ${first.id} --channels NAME`)];
}
const maxKeysNamed = 5;

/** Whether bills are written; where no server runs there are none to write. The names of figures are those of `gateway status`. */
async function storage(context: Context): Promise<Finding> {
  const found = await (await context.client()).call('status.overview');
  const facts = ['settlements_waiting', 'late_ends', 'settlements_refused']
    .filter((name) => found[name] !== undefined)
    .map((name) => `${name} ${found[name]}`);
  const reason = String(found.storage ?? 'ok');
  const reasonText = reasonIn(reason, context.language);
  const detail = [reason === 'ok' ? '' : reasonText, ...facts].filter((part) => part !== '').join('; ');
  if (reason !== 'ok') return wrong('storage', 'fail', detail, fixOf(reason));
  return facts.length === 0 ? ok('storage', '') : wrong('storage', 'warn', detail, 'gateway ledger verify');
}

/** How long each node serves without the database: what it has leased is free for others five seconds later. */
async function leases(context: Context): Promise<readonly Finding[]> {
  const { several, nodes } = await (await context.client()).call('node.list');
  if (!several) return [];
  const known = nodes.flatMap(({ name, state, lease_seconds: seconds }) =>
    state === 'gone' || seconds === null ? [] : [`${name} ${seconds} s`],
  );
  return known.length === 0 ? [] : [ok('leases', known.join(', '))];
}

/** Programs cannot sign in from elsewhere over plain HTTP. What a declared proxy says is seen by the server alone. */
async function programs(context: Context): Promise<readonly Finding[]> {
  const values = new Map((await (await context.client()).call('option.list')).map(({ key, value }) => [key, value]));
  if (values.get('agents.sign_in') !== 'true') return [];
  if (
    /^https:/i.test(values.get('ServerAddress') ?? '') ||
    (values.get('general_setting.trusted_proxies') ?? '') !== ''
  )
    return [ok('programs', '')];
  const detail = context.say(
    '程序只能在本机登录：站点地址不是 https，也没有受信任的代理',
    'programs can sign in on this machine only: the address of the site is not https and no proxy is trusted',
  );
  return [wrong('programs', 'warn', detail, 'gateway option set ServerAddress=https://...')];
}

/** Budgets that refuse requests, or soon will; and a stop of keys that leak, which reads the log of usage. */
async function budgets(context: Context): Promise<readonly Finding[]> {
  const { say } = context;
  const client = await context.client();
  const values = new Map((await client.call('option.list')).map(({ key, value }) => [key, value]));
  if (values.get('budgets.leak_stop') === 'true' && values.get('LogConsumeEnabled') === 'false') {
    const detail = say(
      '未保留使用日志，因此不会停用疑似泄露的令牌',
      'keys that leak are not stopped: the log of usage is not kept',
    );
    return [wrong('budgets', 'warn', detail, 'gateway option set LogConsumeEnabled=true')];
  }
  const rows = await client.call('budget.list', {});
  if (rows.length === 0) return [];
  const nearly = rows.filter(({ window_at: at, used, bound }) => at !== null && used * 100 >= bound * nearlyUsed);
  const names = nearly.map(({ holder, subject, name, window }) =>
    [holder, name || subject, window].filter((part) => part !== '').join(' '),
  );
  return nearly.length === 0
    ? [ok('budgets', String(rows.length))]
    : [
        wrong(
          'budgets',
          'warn',
          say(`已用 ${nearlyUsed}% 以上：${names.join('、')}`, `used to ${nearlyUsed}% or more: ${names.join(', ')}`),
          'gateway budget list',
        ),
      ];
}
const nearlyUsed = 95;

/** How old the last backup by the clock is. */
async function backups(context: Context): Promise<Finding> {
  const { say } = context;
  const found = await (await context.client()).call('backup.status');
  const age = Math.floor((Date.now() / 1000 - found.made_at) / 3600);
  const last =
    found.made_at === 0
      ? say('尚无备份', 'none yet')
      : say(`上次在 ${age} 小时前，${found.place}`, `last ${age} h ago, ${found.place}`);
  const failed =
    found.error === '' ? '' : say(`；上次尝试失败：${found.error}`, `; the last try failed: ${found.error}`);
  if (found.every_hours === 0)
    return wrong(
      'backups',
      'warn',
      say(`未设置定时备份${failed}`, `not scheduled${failed}`),
      'gateway option set backup_setting.every_hours=24',
    );
  return found.missing === ''
    ? ok('backups', last)
    : wrong('backups', 'fail', `${last}: ${found.missing}`, 'gateway backup run');
}

const fixOf = (reason: string): string =>
  /malformed|damaged|not a database|btree|Tree/i.test(reason)
    ? 'gateway backup restore FILE'
    : /full/i.test(reason)
      ? 'gateway logs prune --before 90d'
      : 'dmesg; df; mount';

interface Part {
  readonly name: string;
  /** About this machine's folder: nothing to do with a server elsewhere. */
  readonly local?: true;
  readonly check: (context: Context) => Finding | Promise<Finding | readonly Finding[]>;
}

/** Names as they are shown: those of functions do not survive in the executable. */
const parts: readonly Part[] = [
  { name: 'data directory', local: true, check: folder },
  { name: 'disk', local: true, check: disk },
  { name: 'server', check: server },
  { name: 'proxy', local: true, check: proxy },
  { name: 'storage', check: storage },
  { name: 'database', local: true, check: database },
  { name: 'leases', check: leases },
  { name: 'ledger', local: true, check: ledger },
  { name: 'channels', check: channels },
  { name: 'traffic', check: traffic },
  { name: 'prices', check: prices },
  { name: 'chains', check: chains },
  { name: 'keys', check: keys },
  { name: 'programs', check: programs },
  { name: 'budgets', check: budgets },
  { name: 'backups', check: backups },
];

const chinese: Readonly<Record<string, string>> = {
  'data directory': '数据目录',
  disk: '磁盘',
  server: '服务',
  proxy: '代理',
  storage: '存储',
  database: '数据库',
  leases: '额度租约',
  ledger: '账本',
  channels: '渠道',
  traffic: '流量',
  prices: '价格',
  chains: '虚拟模型',
  keys: '令牌',
  programs: '程序登录',
  budgets: '预算',
  reach: '可达',
  redirect: '跳转',
  path: '路径',
  headers: '请求头',
  host: '主机名',
  'client address': '客户端地址',
  scheme: '协议',
  clock: '时钟',
  tls: 'TLS',
  'plain http': '明文 HTTP',
  errors: '错误应答',
  cache: '缓存',
  methods: '请求方法',
  sockets: '实时连接',
  streams: '流',
  compression: '压缩',
  'body size': '请求大小',
  silence: '静默',
  backups: '备份',
  ok: '正常',
  warn: '注意',
  fail: '失败',
};

/** The same refusal of several checks is one finding. */
function together(findings: readonly Finding[]): Finding[] {
  const kept: Finding[] = [];
  for (const one of findings) {
    const same = kept.findIndex(
      ({ result, detail }) => result === 'fail' && result === one.result && detail === one.detail,
    );
    const other = kept[same];
    if (other === undefined) kept.push(one);
    else kept[same] = { ...other, check: `${other.check}, ${one.check}` };
  }
  return kept;
}

/** Seconds for which an answer keeps silent, in questions from outside: above what proxies allow as they come. */
const silentSeconds = 75;
const maxSilentSeconds = 300;

/** @throws AppError usage */
function proxyNamed(flags: FlagValues): ProxyName | '' {
  const name = text(flags.proxy);
  const found = proxies.find((one) => one === name);
  if (name !== undefined && found === undefined)
    throw new AppError('usage', { detail: `--proxy ${name}: ${proxies.join(', ')}` });
  return found ?? '';
}

/** What a client elsewhere meets: asked where nobody is signed in, and where it is wanted. */
async function fromOutside(context: Context, flags: FlagValues): Promise<readonly Finding[]> {
  const { say, url } = context;
  const proxy = proxyNamed(flags);
  const seconds = wholeNumber(text(flags.silence), '--silence', { min: 0, max: maxSilentSeconds }) ?? silentSeconds;
  if (url === '') throw new AppError('input_needed', { flags: '--url' });
  const startedMs = Date.now();
  const left = (): number => Math.max(0, seconds - Math.round((Date.now() - startedMs) / 1000));
  const { lookFromOutside } = await import('./outside.ts');
  return context.during(lookFromOutside(context, { silentMs: seconds * 1000, proxy }), () =>
    say(`经代理提问，还需 ${left()} 秒`, `asking through the proxy, ${left()} s left`),
  );
}

/** Lines of a configuration, below the table of a terminal. */
function printLines({ output }: Context, findings: readonly Finding[], word: (text: string) => string): void {
  for (const { check, fix } of findings) {
    if (!fix.includes('\n')) continue;
    output.line('');
    output.line(`${word(check)}:`);
    for (const line of fix.split('\n')) output.line(`  ${line}`);
  }
}

/** What is found out about a site by whoever may ask everything. */
export async function findingsOf(context: Context): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { name, local, check } of parts) {
    if (local === true && context.url !== '') continue;
    try {
      found.push(...[await check(context)].flat());
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      found.push(wrong(name, 'fail', formatError(error.code, error.params, context.language), ''));
    }
  }
  return found;
}

export const doctor: CommandRun = async (context, flags) => {
  const isOutside = flags.outside === true || (context.url !== '' && !context.signedIn);
  if (flags.fix === true && context.url === '')
    for (const path of repair(context)) context.output.note(`chmod go= ${path}`);
  const found = [
    ...(isOutside ? await fromOutside(context, flags) : []),
    ...(context.url !== '' && !context.signedIn ? [] : await findingsOf(context)),
  ];
  // Programs look for each check by its name.
  const findings = context.output.format === 'table' ? together(found) : found;
  const forPeople = context.output.format === 'table' && context.output.isTty;
  const word = (words: string): string =>
    words.replace(/[a-z][a-z ]*[a-z]/g, (name) => context.say(chinese[name] ?? name, name));
  context.output.list(
    findings,
    [
      { name: 'result', value: (row) => word(row.result) },
      { name: 'check', value: (row) => word(row.check) },
      { name: 'detail', value: (row) => row.detail },
      {
        name: 'fix',
        value: ({ fix }) =>
          fix.includes('\n') ? (forPeople ? context.say('见下', 'see below') : fix.split('\n').join('; ')) : fix,
      },
    ],
    (row) => `${row.check} ${row.result}`,
  );
  if (forPeople) printLines(context, findings, word);
  const failed = findings.filter((finding) => finding.result === 'fail');
  if (failed.length > 0)
    throw new AppError('check_failed', { detail: failed.map((one) => word(one.check)).join(', ') });
};
