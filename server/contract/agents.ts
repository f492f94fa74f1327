/** How programs that work with models are configured to use this gateway: `gateway exec`, `gateway agents`, the console and the documents read the same rows. */

export interface AgentSettings {
  /** The URL of the gateway, without a slash at its end. */
  readonly url: string;
  readonly key: string;
  /** Names that the key may use; empty = not known. */
  readonly models: readonly string[];
  /** The one to begin with; '' = the program's own choice. */
  readonly model: string;
  /** By the name of a model, as far as they are known. */
  readonly limits?: Readonly<Record<string, ModelSize>>;
}

/** Tokens of the longest conversation and of the longest answer. */
export interface ModelSize {
  readonly context: number;
  readonly output: number;
}

export interface AgentFile {
  /** Where the program's user keeps it. */
  readonly path: string;
  readonly text: string;
  /** Variable by which one run gets it: it names the file, holds its content, or names a home folder in which its members are added to the user's own. */
  readonly once?: { readonly variable: string; readonly as: 'file' | 'content' | 'home' };
}

/** What `gateway connect` sets in a file of the user's own, member by member; everything else in it stays. */
export interface AgentPatch {
  /** The first of them that exists is changed, else the first is made. */
  readonly paths: readonly string[];
  readonly format: 'json' | 'toml' | 'yaml' | 'env' | 'text';
  /** For the format `text`: the whole file, which is the gateway's own. */
  readonly text?: string;
  readonly set: readonly (readonly [path: readonly string[], value: string | number | readonly string[] | object])[];
  /** For JSON and YAML: members at the top that a new file needs; a file that is there keeps its own. */
  readonly missing?: Readonly<Record<string, string>>;
  /** For YAML: items of a list at the top, known by their `name`; all others stay. */
  readonly items?: { readonly list: string; readonly values: readonly { readonly name: string }[] };
  /** A file that the program would no longer read once this one is made. */
  readonly hides?: string;
  /** Members that would lead past the gateway, or win over what is set. */
  readonly drop?: readonly (readonly string[])[];
}

/**
 * How a connected program gets its key: in its own file, from a command that prints one as long as a person is signed in, or by
 * sending its user's browser to the site's authorization endpoint (RFC 6749 4.1, RFC 7636).
 */
export type AgentCredential =
  | { readonly key: string }
  | { readonly command: string; readonly arguments: readonly string[] }
  | { readonly authorization: string; readonly token: string };

interface Setup {
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: readonly AgentFile[];
  /** What its user enters in the program itself: the place of each field, and what belongs there. */
  readonly fields?: readonly SetupStep[];
  /** In front of what the user says. */
  readonly arguments?: readonly string[];
}

export interface Agent {
  readonly name: string;
  readonly label: string;
  /** The program as it is called in a shell. */
  readonly program: string;
  /** Package of the npm registry; absent = it comes otherwise. */
  readonly package?: string;
  /** Package of Python's registry. */
  readonly python?: string;
  /** Models it is made for, best kind first. */
  readonly prefers: readonly RegExp[];
  /** Variables that would lead it past the gateway. */
  readonly unset: readonly string[];
  /** For one run, leaving the user's own settings as they are; absent = it cannot, and gets what SDKs read. */
  once?(settings: AgentSettings): Setup;
  /** For good. */
  always(settings: AgentSettings): Setup;
  /** The same as changes to the files that its user may have already; none = it keeps its settings elsewhere. */
  connects(settings: Omit<AgentSettings, 'key'>, credential: AgentCredential): readonly AgentPatch[];
  /** Whether it can ask a command for its key. */
  readonly asksCommand?: true;
  /** Its file holds no key: its user gives it one, as the note says. */
  readonly keepsNoKey?: true;
  /** Its client id, where it signs in by the browser. */
  readonly browserClient?: string;
  readonly note?: { readonly zh: string; readonly en: string };
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
/** TOML's basic strings are JSON's. */
const toml = (value: string): string => JSON.stringify(value);
const ifSet = (name: string, value: string): Readonly<Record<string, string>> =>
  value === '' ? {} : { [name]: value };

/** The first of the names that fits, else the one to begin with. */
const matchingModel = ({ models, model }: AgentSettings, pattern: RegExp): string =>
  pattern.test(model) ? model : (models.findLast((name) => pattern.test(name)) ?? model);

const claudeEnvironment = (settings: AgentSettings): Readonly<Record<string, string>> => ({
  ANTHROPIC_BASE_URL: settings.url,
  ANTHROPIC_AUTH_TOKEN: settings.key,
  ...ifSet('ANTHROPIC_MODEL', settings.model),
  // What it does on the side is asked of smaller models; where they are not served it would fail there.
  ...ifSet('ANTHROPIC_DEFAULT_OPUS_MODEL', matchingModel(settings, /opus/)),
  ...ifSet('ANTHROPIC_DEFAULT_SONNET_MODEL', matchingModel(settings, /sonnet/)),
  ...ifSet('ANTHROPIC_DEFAULT_HAIKU_MODEL', matchingModel(settings, /haiku/)),
  // It writes a line in front of its prompt that changes with every request.
  CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
});

const codexKey = 'GATEWAY_API_KEY';
const codexClient = 'codex';
/** Whatever it signs in by, it reads its catalogue where this is named; without it only where a command prints its key. Codex 0.171.0. */
const codexCatalogue = (url: string): string => `${url}/v1/models`;
const codexProvider = ({ url }: AgentSettings): readonly (readonly [string, string])[] => [
  ['name', toml('gateway')],
  ['base_url', toml(`${url}/v1`)],
  ['model_catalog_url', toml(codexCatalogue(url))],
  ['env_key', toml(codexKey)],
  ['wire_api', toml('responses')],
  // It asks again even after a refusal; the gateway has tried every channel by then.
  ['stream_max_retries', '2'],
];

/** https://github.com/openai/codex/blob/main/codex-rs/model-provider-info: one of the three, else it refuses its file. */
function codexCredential(credential: AgentCredential): Readonly<Record<string, unknown>> {
  if ('key' in credential) return { experimental_bearer_token: credential.key };
  if ('command' in credential) return { auth: { command: credential.command, args: credential.arguments } };
  const { authorization, token } = credential;
  return { gateway_oauth: { authorization_url: authorization, token_url: token, client_id: codexClient } };
}

const geminiEnvironment = ({ url, key, model }: AgentSettings): Readonly<Record<string, string>> => ({
  GOOGLE_GEMINI_BASE_URL: url,
  GEMINI_API_KEY: key,
  ...ifSet('GEMINI_MODEL', model),
});
const geminiSettings = json({ security: { auth: { selectedType: 'gemini-api-key' } } });

const qwenEnvironment = ({ url, key, model }: AgentSettings): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: key,
  ...ifSet('OPENAI_MODEL', model),
});
const qwenSettings = json({ security: { auth: { selectedType: 'openai' } } });

const opencodeModels = ({ model }: Pick<AgentSettings, 'model'>): Readonly<Record<string, string>> =>
  model === '' ? {} : { model: `gateway/${model}`, small_model: `gateway/${model}` };
const opencodeSchema = 'https://opencode.ai/config.json';
/** Without sizes it shortens no conversation before it is too long. https://opencode.ai/config.json */
const opencodeModel = (name: string, limit: ModelSize | undefined) => ({ name, ...(limit && { limit }) });
const opencodeProvider = ({ url, key, model, models, limits = {} }: AgentSettings) => ({
  npm: '@ai-sdk/openai-compatible',
  name: 'gateway',
  options: { baseURL: `${url}/v1`, ...ifSet('apiKey', key) },
  models: Object.fromEntries(
    [...models, model].filter((name) => name !== '').map((name) => [name, opencodeModel(name, limits[name])]),
  ),
});
const opencodeConfig = (settings: AgentSettings): string =>
  json({
    $schema: opencodeSchema,
    ...opencodeModels(settings),
    provider: { gateway: opencodeProvider(settings) },
  });

/**
 * It keeps a key and runs no command for one, but loads every program in this folder with itself. A provider with a key of its own is
 * left alone, so that the file harms nobody who connects by a key later. https://opencode.ai/docs/plugins
 */
const opencodePlugin = (
  command: string,
  words: readonly string[],
): string => `// Written by gateway connect: the token of whoever is signed in, asked for at most once a minute.
import { execFile } from 'node:child_process';

const ask = () =>
  new Promise((resolve, reject) =>
    execFile(${JSON.stringify(command)}, ${JSON.stringify(words)}, (error, out, words) =>
      error ? reject(new Error(words.trim() || error.message)) : resolve(out.trim()),
    ),
  );
let asked = 0;
let token;

export const Gateway = async () => ({
  'chat.headers': async ({ model, provider }, output) => {
    if (model.providerID !== 'gateway' || provider?.options?.apiKey) return;
    if (Date.now() - asked > 60_000) {
      asked = Date.now();
      token = ask();
      token.catch(() => (asked = 0));
    }
    output.headers.Authorization = \`Bearer \${await token}\`;
  },
});
`;

const aiderEnvironment = ({ url, key, model }: AgentSettings): Readonly<Record<string, string>> => ({
  OPENAI_API_BASE: `${url}/v1`,
  OPENAI_API_KEY: key,
  ...ifSet('AIDER_MODEL', model === '' ? '' : `openai/${model}`),
});

/** The chosen model first; those that write no text are of no use to an agent. */
const writingModels = ({ models, model }: Pick<AgentSettings, 'models' | 'model'>): readonly string[] =>
  [...new Set([model, ...models])].filter((name) => name !== '' && writesText(name));

const sonnetFirst = [/^claude-.*sonnet/, /^claude/, /^gpt-5/, /^gpt/];

const clineFile = '~/.cline/data/settings/providers.json';
/** As `cline auth` 3.0.65 writes it; without the version and the day it reads nothing of the file. */
const clineProvider = ({ url, model }: Pick<AgentSettings, 'url' | 'model'>, key: string) => ({
  settings: { provider: 'openai-compatible', apiKey: key, ...ifSet('model', model), baseUrl: `${url}/v1` },
  updatedAt: '1970-01-01T00:00:00.000Z',
  tokenSource: 'manual',
});

const continueFile = '~/.continue/config.yaml';
/** https://docs.continue.dev/reference: the first three members are required. */
const continueHead = { name: 'Local config', version: '1.0.0', schema: 'v1' };
const continueModels = (settings: Pick<AgentSettings, 'url' | 'models' | 'model'>, key: string) =>
  writingModels(settings)
    .slice(0, maxListed)
    .map((name) => ({
      name: `gateway ${name}`,
      provider: 'openai',
      model: name,
      apiBase: `${settings.url}/v1`,
      apiKey: key,
    }));
/** Of a list that people choose from. */
const maxListed = 20;

const zedKey = 'GATEWAY_API_KEY';
const zedFile = '~/.config/zed/settings.json';
/** It wants a window for each model and shortens conversations by it. https://zed.dev/docs/ai/llm-providers */
const zedWindow = 128_000;
const zedProvider = ({ limits = {}, ...settings }: Omit<AgentSettings, 'key'>) => ({
  api_url: `${settings.url}/v1`,
  available_models: writingModels(settings).map((name) => {
    const size = limits[name];
    return { name, max_tokens: size?.context ?? zedWindow, ...(size && { max_output_tokens: size.output }) };
  }),
});
const zedModel = (model: string) => ({ provider: 'gateway', model });

const cursorModels = 'Cursor Settings › Models';

type Members = AgentPatch['set'];
const keyOf = (credential: AgentCredential): string => ('key' in credential ? credential.key : '');
const under = (place: string, members: Readonly<Record<string, string>>): Members =>
  Object.entries(members).map(([name, value]) => [place === '' ? [name] : [place, name], value]);
const shellWord = (word: string): string => (/^[\w./:@=+-]+$/.test(word) ? word : quoted(word));

export const agents: readonly Agent[] = [
  {
    name: 'claude',
    label: 'Claude Code',
    program: 'claude',
    package: '@anthropic-ai/claude-code',
    prefers: [/^claude-.*sonnet/, /^claude-.*opus/, /^claude/],
    unset: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'],
    once: (settings) => ({ environment: claudeEnvironment(settings) }),
    always: (settings) => ({
      files: [{ path: '~/.claude/settings.json', text: json({ env: claudeEnvironment(settings) }) }],
    }),
    asksCommand: true,
    connects(settings, credential) {
      const { ANTHROPIC_AUTH_TOKEN: key = '', ...others } = claudeEnvironment({ ...settings, key: keyOf(credential) });
      const secret: Members =
        'command' in credential
          ? [[['apiKeyHelper'], [credential.command, ...credential.arguments].map(shellWord).join(' ')]]
          : [[['env', 'ANTHROPIC_AUTH_TOKEN'], key]];
      // Its variable wins over the command.
      const other = 'command' in credential ? ['env', 'ANTHROPIC_AUTH_TOKEN'] : ['apiKeyHelper'];
      const drop = [other, ...this.unset.map((name) => ['env', name])];
      return [{ paths: ['~/.claude/settings.json'], format: 'json', set: [...under('env', others), ...secret], drop }];
    },
  },
  {
    name: 'codex',
    label: 'Codex',
    program: 'codex',
    package: '@openai/codex',
    prefers: [/codex/, /^gpt-5/, /^gpt/],
    unset: ['OPENAI_BASE_URL'],
    once: (settings) => ({
      environment: { [codexKey]: settings.key, CODEX_API_KEY: settings.key },
      arguments: [
        'model_provider="gateway"',
        ...codexProvider(settings).map(([name, value]) => `model_providers.gateway.${name}=${value}`),
        ...(settings.model === '' ? [] : [`model=${toml(settings.model)}`]),
      ].flatMap((setting) => ['-c', setting]),
    }),
    always: (settings) => ({
      environment: { [codexKey]: settings.key },
      files: [
        {
          path: '~/.codex/config.toml',
          text: [
            'model_provider = "gateway"',
            ...(settings.model === '' ? [] : [`model = ${toml(settings.model)}`]),
            '',
            '[model_providers.gateway]',
            ...codexProvider(settings).map(([name, value]) => `${name} = ${value}`),
            '',
          ].join('\n'),
        },
      ],
    }),
    asksCommand: true,
    browserClient: codexClient,
    connects: ({ url, model }, credential) => [
      {
        paths: ['~/.codex/config.toml'],
        format: 'toml',
        set: [
          [['model_provider'], 'gateway'],
          ...(model === '' ? [] : [[['model'], model] as const]),
          [
            ['model_providers', 'gateway'],
            {
              name: 'gateway',
              base_url: `${url}/v1`,
              model_catalog_url: codexCatalogue(url),
              wire_api: 'responses',
              stream_max_retries: 2,
              ...codexCredential(credential),
            },
          ],
        ],
      },
    ],
    note: {
      zh: 'Codex 不读取 OPENAI_BASE_URL：不写配置就会绕过网关。',
      en: 'Codex does not read OPENAI_BASE_URL: without its configuration it goes past the gateway.',
    },
  },
  {
    name: 'gemini',
    label: 'Gemini CLI',
    program: 'gemini',
    package: '@google/gemini-cli',
    prefers: [/^gemini-.*pro/, /^gemini/],
    unset: ['GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA', 'GOOGLE_VERTEX_BASE_URL'],
    once: (settings) => ({
      environment: geminiEnvironment(settings),
      files: [
        {
          path: '~/.gemini/settings.json',
          text: geminiSettings,
          // Its system settings would do, but it reads them only where they belong to root.
          once: { variable: 'GEMINI_CLI_HOME', as: 'home' },
        },
      ],
    }),
    always: (settings) => ({
      environment: geminiEnvironment(settings),
      files: [{ path: '~/.gemini/settings.json', text: geminiSettings }],
    }),
    connects(settings, credential) {
      const set = under('', geminiEnvironment({ ...settings, key: keyOf(credential) }));
      return [
        {
          paths: ['~/.gemini/settings.json'],
          format: 'json',
          set: [[['security', 'auth', 'selectedType'], 'gemini-api-key']],
        },
        { paths: ['~/.gemini/.env'], format: 'env', set, drop: this.unset.map((name) => [name]) },
      ];
    },
  },
  {
    name: 'opencode',
    label: 'opencode',
    program: 'opencode',
    package: 'opencode-ai',
    prefers: [/^claude/, /^gpt-5/, /^gpt/, /^gemini/],
    unset: [],
    once: (settings) => ({
      files: [
        {
          path: '~/.config/opencode/opencode.json',
          text: opencodeConfig(settings),
          once: { variable: 'OPENCODE_CONFIG_CONTENT', as: 'content' },
        },
      ],
    }),
    always: (settings) => ({ files: [{ path: '~/.config/opencode/opencode.json', text: opencodeConfig(settings) }] }),
    asksCommand: true,
    connects: (settings, credential) => [
      {
        paths: ['~/.config/opencode/opencode.json', '~/.config/opencode/opencode.jsonc'],
        format: 'json',
        set: [
          ...under('', opencodeModels(settings)),
          [['provider', 'gateway'], opencodeProvider({ ...settings, key: keyOf(credential) })],
        ],
        // It adds this itself, and the file would no longer be as it was written.
        missing: { $schema: opencodeSchema },
      },
      ...('command' in credential
        ? [
            {
              paths: ['~/.config/opencode/plugin/gateway.js'],
              format: 'text' as const,
              text: opencodePlugin(credential.command, credential.arguments),
              set: [],
            },
          ]
        : []),
    ],
  },
  {
    name: 'qwen',
    label: 'Qwen Code',
    program: 'qwen',
    package: '@qwen-code/qwen-code',
    prefers: [/^qwen.*coder/, /^qwen/],
    unset: [],
    once: (settings) => ({
      environment: qwenEnvironment(settings),
      files: [
        {
          path: '~/.qwen/settings.json',
          text: qwenSettings,
          once: { variable: 'QWEN_CODE_SYSTEM_SETTINGS_PATH', as: 'file' },
        },
      ],
    }),
    always: (settings) => ({
      environment: qwenEnvironment(settings),
      files: [{ path: '~/.qwen/settings.json', text: qwenSettings }],
    }),
    connects: (settings, credential) => [
      { paths: ['~/.qwen/settings.json'], format: 'json', set: [[['security', 'auth', 'selectedType'], 'openai']] },
      {
        paths: ['~/.qwen/.env'],
        format: 'env',
        set: under('', qwenEnvironment({ ...settings, key: keyOf(credential) })),
      },
    ],
  },
  {
    name: 'aider',
    label: 'aider',
    program: 'aider',
    python: 'aider-chat',
    prefers: [/^claude/, /^gpt-5/, /^gpt/, /^deepseek/],
    unset: [],
    once: (settings) => ({ environment: aiderEnvironment(settings) }),
    always: (settings) => ({ environment: aiderEnvironment(settings) }),
    connects: ({ url, model }, credential) => [
      {
        paths: ['~/.aider.conf.yml'],
        format: 'yaml',
        set: under('', {
          'openai-api-base': `${url}/v1`,
          'openai-api-key': keyOf(credential),
          ...ifSet('model', model === '' ? '' : `openai/${model}`),
        }),
      },
    ],
    note: {
      zh: '额度用尽时，aider 自己会重试约一分钟，Ctrl-C 可结束。',
      en: 'When the quota is used up, aider itself asks again for a minute; Ctrl-C ends it.',
    },
  },
  {
    name: 'cline',
    label: 'Cline',
    program: 'cline',
    package: 'cline',
    prefers: sonnetFirst,
    unset: [],
    always: (settings) => ({
      files: [
        {
          path: clineFile,
          text: json({
            version: 1,
            lastUsedProvider: 'openai-compatible',
            providers: { 'openai-compatible': clineProvider(settings, settings.key) },
          }),
        },
      ],
    }),
    connects: (settings, credential) => [
      {
        paths: [clineFile],
        format: 'json',
        set: [
          [['version'], 1],
          [['lastUsedProvider'], 'openai-compatible'],
          [['providers', 'openai-compatible'], clineProvider(settings, keyOf(credential))],
        ],
      },
    ],
    note: {
      zh: '这是命令行 cline 的文件；VS Code 扩展把地址和密钥存在编辑器里，在其设置中选择 OpenAI Compatible。',
      en: 'This is the file of the command cline. The extension of VS Code keeps address and key in the editor: choose OpenAI Compatible in its settings.',
    },
  },
  {
    name: 'continue',
    label: 'Continue',
    program: 'cn',
    package: '@continuedev/cli',
    prefers: sonnetFirst,
    unset: [],
    always: (settings) => ({
      files: [
        {
          path: continueFile,
          text: [
            ...Object.entries(continueHead).map(([name, value]) => `${name}: ${value}`),
            'models:',
            ...continueModels({ ...settings, models: [] }, settings.key).flatMap((item) =>
              Object.entries(item).map(([name, value], at) => `${at === 0 ? '  - ' : '    '}${name}: ${toml(value)}`),
            ),
            '',
          ].join('\n'),
        },
      ],
    }),
    connects: (settings, credential) => [
      {
        paths: [continueFile],
        format: 'yaml',
        set: [],
        missing: continueHead,
        items: { list: 'models', values: continueModels(settings, keyOf(credential)) },
        hides: '~/.continue/config.json',
      },
    ],
  },
  {
    name: 'zed',
    label: 'Zed',
    program: 'zed',
    prefers: sonnetFirst,
    unset: [],
    always: (settings) => ({
      environment: { [zedKey]: settings.key },
      files: [
        {
          path: zedFile,
          text: json({
            language_models: { openai_compatible: { gateway: zedProvider(settings) } },
            ...(settings.model === '' ? {} : { agent: { default_model: zedModel(settings.model) } }),
          }),
        },
      ],
    }),
    connects: (settings) => [
      {
        paths: [zedFile],
        format: 'json',
        set: [
          [['language_models', 'openai_compatible', 'gateway'], zedProvider(settings)],
          ...(settings.model === '' ? [] : [[['agent', 'default_model'], zedModel(settings.model)] as const]),
        ],
      },
    ],
    keepsNoKey: true,
    note: {
      zh: 'Zed 的密钥不在配置文件中：在 Agent 设置的 LLM Providers 中输入一次，或启动前设置 GATEWAY_API_KEY。',
      en: 'Zed keeps no key in its file: enter it once under LLM Providers in the agent settings, or set GATEWAY_API_KEY before it starts.',
    },
  },
  // https://ngrok.com/docs/ai-gateway/agents/cursor, https://developers.cloudflare.com/ai-gateway/integrations/coding-agents/cursor
  {
    name: 'cursor',
    label: 'Cursor',
    program: 'cursor',
    prefers: sonnetFirst,
    unset: [],
    always: ({ url, key, model }) => ({
      fields: [
        { path: `${cursorModels} › API Keys › OpenAI API Key`, text: key },
        { path: `${cursorModels} › API Keys › Override OpenAI Base URL`, text: `${url}/v1` },
        ...(model === '' ? [] : [{ path: `${cursorModels} › Add model`, text: model }]),
      ],
    }),
    connects: () => [],
    note: {
      zh: 'Cursor 没有可写的配置文件：请在其设置中逐项填写，打开两个开关和添加的模型。请求由 Cursor 的服务器发出，因此网关须有公网 https 地址；需要付费版。',
      en: 'Cursor has no file to write: enter these in its settings, and turn both switches and the added model on. It asks from its own servers, so the gateway needs a public https address; it takes a paid plan.',
    },
  },
];

/** What a site says of a model in `GET /v1/models`. */
export interface ListedModel {
  readonly id?: unknown;
  readonly context_length?: unknown;
  readonly max_completion_tokens?: unknown;
}

/** @returns undefined where one of them is not known. */
export function sizeOf({ context_length: context, max_completion_tokens: output }: ListedModel): ModelSize | undefined {
  return typeof context === 'number' && typeof output === 'number' ? { context, output } : undefined;
}

/** The models of a list as opencode's configuration names them. */
export const opencodeList = (cards: readonly ListedModel[]): Readonly<Record<string, unknown>> => ({
  provider: {
    gateway: {
      models: Object.fromEntries(
        cards
          .map((card) => [String(card.id), opencodeModel(String(card.id), sizeOf(card))] as const)
          .filter(([name]) => writesText(name)),
      ),
    },
  },
});

/** Models that do not write. */
const silent = /embed|whisper|tts|dall-e|image|rerank|moderation|audio|realtime|transcribe|^mj_|^suno/i;

/** Whether a model answers in words, as far as its name says. */
export const writesText = (model: string): boolean => !silent.test(model);

/** The model that an agent begins with: of those it is made for the newest by name, else the first that writes. */
export function modelFor(agent: Agent, models: readonly string[]): string {
  const writing = models.filter(writesText);
  for (const pattern of agent.prefers) {
    const found = writing
      .filter((name) => pattern.test(name))
      .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
      .at(-1);
    if (found !== undefined) return found;
  }
  return writing[0] ?? '';
}

/** Whether there is no file in which it could be set up. */
export const isSetUpByHand = (agent: Agent): boolean =>
  agent.connects({ url: '', models: [], model: '' }, { key: '' }).length === 0;

/** The one line that starts it, or sets it up where it reads nothing but its own file, or says what its user enters. */
export function lineFor(agent: Agent): string {
  if (agent.once !== undefined) return `gateway exec -- ${agent.program}`;
  return isSetUpByHand(agent) ? `gateway agents ${agent.name}` : `gateway connect ${agent.name}`;
}

/** The agent behind a command: `/usr/bin/claude`, `codex.exe`. */
export function agentOf(command: string): Agent | undefined {
  const program = command
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.(?:exe|cmd|ps1)$/i, '');
  return agents.find((agent) => agent.program === program);
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;

/** One thing to do by hand. */
export interface SetupStep {
  /** '' = in a shell. */
  readonly path: string;
  readonly text: string;
}

/** What an agent needs for good, ready to be copied. */
export function setupSteps(agent: Agent, settings: AgentSettings): readonly SetupStep[] {
  const { environment = {}, files = [], fields = [] } = agent.always(settings);
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  return [
    ...files.map(({ path, text }) => ({ path, text })),
    ...fields,
    ...(exports.length === 0 ? [] : [{ path: '', text: exports.join('') }]),
  ];
}
