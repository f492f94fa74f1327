/** Set-up on a terminal: mode, administrator, channel, test call, API key, environment. Steps that are done are left out, so that it can be taken up again. */
import type { Channel } from '../../server/contract/entities.ts';
import { TokenStatus } from '../../server/contract/enum.ts';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { displayedKey } from '../../server/contract/token-key.ts';
import type { Client } from '../client.ts';
import { type FlagValues, text } from '../command.ts';
import { allChannels, fieldsOf, testErrorOf, typeNames, typeOf } from '../commands/channel/fields.ts';
import { credentials } from '../commands/site/from-environment.ts';
import type { Context } from '../context.ts';
import { addressOf, variablesFor } from '../parts/access.ts';
import { type Form, inForm } from '../parts/form.ts';
import { type Ask, askAddress, askChannel, askKey, askModels } from './channel-form.ts';

const minPasswordLength = 8;
const firstKey = 'first';
/** Name and password. */
const accountQuestionCount = 2;

interface Test {
  readonly success: boolean;
  readonly message: string;
  readonly time: number;
}

/** What is left to do on this site. */
interface Open {
  readonly administrator: boolean;
  readonly account: boolean;
  readonly channel: boolean;
  /** The channel whose test is open; null when one is tested, or there is none. */
  readonly test: Channel | null;
  readonly key: boolean;
}

const works = (channel: Channel): boolean => channel.response_time > 0 && testErrorOf(channel) === '';

async function openSteps(client: Client): Promise<Open> {
  const state = await client.call('setup.get');
  if (!state.status) return { administrator: true, account: !state.root_init, channel: true, test: null, key: true };
  const channels = await allChannels(client);
  const own = await client.call('token.list', { p: 0, size: 100, owner: 'self' });
  return {
    administrator: false,
    account: false,
    channel: channels.length === 0,
    test: channels.some(works) ? null : (channels[0] ?? null),
    key: !own.some((token) => token.status === TokenStatus.enabled && token.kind === undefined),
  };
}

class SetupWizard {
  readonly #context: Context;
  readonly #client: Client;
  readonly #given: FlagValues;
  readonly #form: Form;
  /** The flags that would have said the same. */
  #flags: FlagValues = {};

  constructor(context: Context, client: Client, input: FlagValues, form: Form) {
    this.#context = context;
    this.#client = client;
    this.#given = input;
    this.#form = form;
  }

  get flags(): FlagValues {
    return this.#flags;
  }

  async administrator(account: boolean): Promise<{ readonly username: string; readonly mode: string }> {
    const owner = async () => ({
      username: account ? await this.#username() : '',
      password: account ? await this.#password() : '',
    });
    let answers = await this.#form.part(async () => ({
      ...{ mode: await this.#mode(), code: await this.#code() },
      ...(await owner()),
    }));
    for (;;) {
      const { mode, code, username, password } = answers;
      try {
        await this.#client.call('setup.run', {
          username,
          password,
          confirmPassword: password,
          ...(code === undefined ? {} : { code }),
          SelfUseModeEnabled: mode === 'self' || mode === 'self-use',
          DemoSiteEnabled: mode === 'demo',
        });
        const own = account ? { username, passwordFile: 'password.txt' } : {};
        this.#flags = { ...this.#flags, ...own, mode: mode === 'self' ? 'self-use' : mode };
        return { username, mode };
      } catch (error) {
        if (!account || !(error instanceof AppError) || error.row.class !== 'client' || error.code === 'setup_done')
          throw error;
        this.#form.note(formatError(error.code, error.params, this.#context.language));
        this.#form.repeat(accountQuestionCount);
        answers = { mode, code, ...(await this.#form.part(owner)) };
      }
    }
  }

  async #mode(): Promise<string> {
    const { say } = this.#context;
    return (
      text(this.#given.mode) ??
      (await this.#form.ask({
        label: say('使用模式', 'usage mode'),
        choices: [
          { value: 'external', label: say('对外运营：多用户计费（默认）', 'external: many users, billed (default)') },
          { value: 'self', label: say('自用：不限额度，不计价也能用', 'self-use: for yourself, unpriced models work') },
          { value: 'demo', label: say('演示站点：只读', 'demo: nobody can change anything') },
        ],
      }))
    );
  }

  /** @returns undefined on this machine, where none is needed. */
  async #code(): Promise<string | undefined> {
    const { env, say, url } = this.#context;
    if (url === '') return undefined;
    return (
      text(this.#given.code) ??
      env.GATEWAY_SETUP_CODE ??
      (await this.#form.ask({ label: say('服务启动时打印的初始化验证码', 'the setup code that the server printed') }))
    );
  }

  #username(): Promise<string> {
    const { say } = this.#context;
    return this.#form.ask({ label: say('管理员用户名', "administrator's username"), fallback: 'root' });
  }

  /** Asked twice; from the start when the two differ. */
  async #password(): Promise<string> {
    const { say, language } = this.#context;
    for (;;) {
      const password = await this.#form.ask({
        label: say('密码', 'password'),
        hint: say('至少 8 个字符', 'at least 8 characters'),
        secret: true,
        check: (typed) =>
          [...typed].length < minPasswordLength ? formatError('setup_password_short', {}, language) : null,
      });
      const repeated = await this.#form.ask({
        label: say('再次输入密码', 'the same password again'),
        secret: true,
        follows: true,
      });
      if (repeated === password) return password;
      this.#form.note(formatError('setup_password_mismatch', {}, language));
      this.#form.repeat(1);
    }
  }

  async channel(): Promise<Channel> {
    const { channelType, channelName, channelBaseUrl, channelModels } = this.#given;
    const input = { type: channelType, name: channelName, baseUrl: channelBaseUrl, models: channelModels };
    const { flags, key } = await askChannel(this.#context, this.#form, input);
    const { type, models } = await typeOf(this.#client, text(flags.type));
    const fields = fieldsOf(flags);
    const [made] = await this.#client.call('channel.create', {
      ...fields,
      type,
      key,
      models: fields.models ?? models.join(','),
    });
    if (made === undefined) throw new AppError('internal');
    this.#flags = {
      ...this.#flags,
      channelType: flags.type,
      channelName: flags.name === flags.type ? undefined : flags.name,
      channelBaseUrl: flags.baseUrl,
      channelModels: flags.models,
      channelKeyFile: 'key.txt',
    };
    return made;
  }

  /** Until a call goes well, or the user leaves it. @returns the last outcome. */
  async test(channel: Channel): Promise<Test> {
    const { say } = this.#context;
    for (;;) {
      const doing = say(`正在测试 ${channel.name}`, `testing ${channel.name}`);
      const test = await this.#form.during(this.#client.call('channel.test', { id: channel.id }), doing);
      if (test.success) {
        const seconds = test.time.toFixed(2);
        this.#form.note(say(`测试成功，${seconds} 秒`, `the test succeeded in ${seconds} s`));
        return test;
      }
      this.#form.note(say(`测试失败：${test.message}`, `the test failed: ${test.message}`));
      if (!(await this.#corrected(channel))) return test;
    }
  }

  /** @returns false when it stays as it is. */
  async #corrected({ id, type }: Channel): Promise<boolean> {
    const context = this.#context;
    const { say } = context;
    const choice = await this.#form.askRest({
      label: say('如何处理', 'what to do'),
      choices: [
        { value: 'key', label: say('修改密钥', 'correct the key') },
        { value: 'address', label: say('修改上游地址', "correct the upstream's address") },
        { value: 'models', label: say('修改模型', 'correct the models') },
        { value: 'again', label: say('再测一次', 'test once more') },
        { value: 'skip', label: say('跳过，以后再处理', 'skip it for now') },
      ],
    });
    const ask: Ask = (question) => this.#form.askRest(question);
    const slug = (await typeNames(this.#client))(type);
    const known = (await this.#client.call('channel.types')).find((one) => one.slug === slug);
    switch (choice) {
      case 'key':
        await this.#client.call('channel.update', { id, key: await askKey(context, ask, known?.key_hint) });
        return true;
      case 'address': {
        const base_url = await askAddress(context, ask, known?.base_url ?? '');
        await this.#client.call('channel.update', { id, base_url });
        this.#flags = { ...this.#flags, ...this.#ifAdded({ channelBaseUrl: base_url || undefined }) };
        return true;
      }
      case 'models': {
        const models = await askModels(context, ask, known?.models ?? []);
        await this.#client.call('channel.update', { id, models: models || (known?.models ?? []).join(',') });
        this.#flags = { ...this.#flags, ...this.#ifAdded({ channelModels: models || undefined }) };
        return true;
      }
      default:
        return choice === 'again';
    }
  }

  /** What was corrected belongs to the command that adds the channel, and to no other. */
  #ifAdded(flags: FlagValues): FlagValues {
    return this.#flags.channelType === undefined ? {} : flags;
  }

  async key(): Promise<string> {
    const name = text(this.#given.tokenName) ?? firstKey;
    const made = await this.#client.call('token.create', { name, unlimited_quota: true });
    this.#flags = { ...this.#flags, tokenName: name };
    return displayedKey(made.key);
  }
}

/** Whole keys stand there once: the other programs read theirs from `gateway env`. */
function environmentLines({ say }: Context, address: string, key: string | null): string[] {
  const variables = key === null ? [] : Object.entries(variablesFor('openai', address, key));
  return [
    ...variables.map(([name, value]) => `export ${name}=${value}`),
    '',
    say('所有 SDK 的环境变量：eval "$(gateway env)"', 'variables for every SDK: eval "$(gateway env)"'),
  ];
}

interface Outcome {
  readonly administrator: { readonly username: string; readonly mode: string } | null;
  readonly channel: Channel | null;
  readonly test: Test | null;
  readonly key: string | null;
  readonly flags: FlagValues;
}

async function stepThrough(context: Context, form: Form, input: FlagValues, open: Open): Promise<Outcome> {
  const client = await context.client();
  const wizard = new SetupWizard(context, client, input, form);
  if (!open.administrator) form.note(remainingSteps(context, open));
  const administrator = open.administrator ? await wizard.administrator(open.account) : null;
  // Over HTTP the remaining steps need a logged-in administrator.
  if (context.url !== '' && administrator !== null)
    return { administrator, channel: null, test: null, key: null, flags: wizard.flags };
  for (const line of context.url === '' ? await credentials(context, client) : []) form.note(line);
  const channel = open.channel ? await wizard.channel() : open.test;
  const test = channel === null ? null : await wizard.test(channel);
  const key = open.key ? await wizard.key() : null;
  return { administrator, channel, test, key, flags: wizard.flags };
}

function questionsOf({ url, env }: Context, input: FlagValues, open: Open): number {
  const isAway = url !== '';
  const asks = [
    open.administrator && text(input.mode) === undefined,
    open.administrator && isAway && text(input.code) === undefined && env.GATEWAY_SETUP_CODE === undefined,
    ...[input.channelType, input.channelBaseUrl, input.channelModels].map(
      (flag) => asksChannel(isAway, open) && text(flag) === undefined,
    ),
    // The key.
    asksChannel(isAway, open),
  ];
  return asks.filter(Boolean).length + (open.account ? accountQuestionCount : 0);
}

/** Elsewhere the steps after the administrator need a login. */
const asksChannel = (isAway: boolean, open: Open): boolean => open.channel && !(isAway && open.administrator);

export async function setupWizard(context: Context, input: FlagValues): Promise<void> {
  const { say, output } = context;
  const open = await openSteps(await context.client());
  const done = await inForm(context, questionsOf(context, input, open), (form) =>
    stepThrough(context, form, input, open),
  );
  const { administrator, channel, test, key } = done;
  const result = administrator !== null || open.channel || key !== null ? 'created' : 'unchanged';
  const toLogin = context.url !== '' && administrator !== null;
  output.object(
    { result, ...administrator, channel: channel?.id, test, key },
    [
      ...(toLogin
        ? [say('系统初始化成功', 'the system is set up')]
        : environmentLines(context, addressOf(context), key)),
      ...(result === 'created'
        ? [say('同样的命令：', 'the same as one command:'), `  ${context.line({ ...input, ...done.flags })}`]
        : []),
      toLogin
        ? say(`接下来：gateway login ${context.url}`, `next: gateway login ${context.url}`)
        : say('接下来：gateway serve', 'next: gateway serve'),
    ],
    key ?? result,
  );
}

function remainingSteps({ say }: Context, { channel, test, key }: Open): string {
  const steps = [
    ...(channel ? [say('渠道', 'channel')] : []),
    ...(channel || test !== null ? [say('测试', 'test')] : []),
    ...(key ? [say('令牌', 'API key')] : []),
  ];
  return steps.length === 0
    ? say('已经初始化：渠道、测试和令牌都已完成', 'already set up: channel, test and API key are there')
    : say(`已经初始化，尚未完成：${steps.join('、')}`, `already set up; still open: ${steps.join(', ')}`);
}
