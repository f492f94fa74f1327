/** What is known of a model at a channel or a kind of upstream, and what is changed in a request because of it. */
import { type CommandRun, text } from '../../command.ts';
import { wholeNumber } from '../../parts/numbers.ts';

interface Words {
  readonly zh: string;
  readonly en: string;
}

const labels: Readonly<Record<string, Words>> = {
  outputCap: { zh: '最长输出（token）', en: 'output limit (tokens)' },
  inputLimit: { zh: '上下文（token）', en: 'context (tokens)' },
  retired: { zh: '提供商停用日期', en: 'taken away by its provider on' },
  thinking: { zh: '思考方式', en: 'reasoning is requested by' },
  alwaysThinks: { zh: '始终思考', en: 'always thinks' },
  thinksUnasked: { zh: '未要求时也思考', en: 'reasons unless switched off' },
  efforts: { zh: '思考强度', en: 'words for effort' },
  budget: { zh: '思考预算（token）', en: 'reasoning budget (tokens)' },
  limitMember: { zh: '长度上限字段', en: 'member of the output limit' },
  switched: { zh: '关闭思考所用字段', en: 'thinking is switched off by' },
  suffixed: { zh: '名称后可加 -high 等', en: 'a word such as -high may stand behind its name' },
  signedCalls: { zh: '历史中的工具调用须带签名', en: 'calls in the history must be signed' },
  inputs: { zh: '输入', en: 'input besides text' },
  outputs: { zh: '输出', en: 'output' },
  apartThought: { zh: '长度上限不计入的思考', en: 'thinking that no limit counts' },
  tokensPerSecond: { zh: '每秒 token 数', en: 'tokens a second' },
};

const refusals: readonly (readonly [prefix: string, words: Words])[] = [
  ['refusesThinking ', { zh: '思考时不接受', en: 'does not take while thinking:' }],
  ['refuses ', { zh: '不接受', en: 'does not take' }],
];

const kinds: Readonly<Record<string, Words>> = {
  absent: { zh: '删除', en: 'is left out' },
  renamed: { zh: '改名为', en: 'becomes' },
  atMost: { zh: '最大', en: 'at most' },
  atLeast: { zh: '最小', en: 'at least' },
  oneOf: { zh: '只能是', en: 'is one of' },
  word: { zh: '按名称指定时改为', en: 'by a name becomes' },
  shaped: { zh: '改写为此形式', en: 'is brought into the shape' },
  present: { zh: '缺少时补上', en: 'is put in where it is missing:' },
  continued: { zh: '续写时最后一条助手消息须标记', en: 'marks a last message of the assistant as' },
  asked: { zh: '须有此角色的消息', en: 'must have a message of the' },
  mentions: { zh: '须提到', en: 'must mention' },
  parted: { zh: '改为此顺序', en: 'is put into the order' },
  without: { zh: '其中删除', en: 'loses' },
  pictured: { zh: '按图片的首字节改写', en: 'is what the first bytes say, of' },
};

function formatValue(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.join(' ') || '–';
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, held]) => `${name} ${formatValue(held)}`)
    .join(', ');
}

export const known: CommandRun = async (context, flags, model) => {
  const client = await context.client();
  const channel = wholeNumber(text(flags.channel), '--channel');
  const found = await client.call('model.explain', {
    model,
    ...(channel === undefined ? { provider: text(flags.provider) } : { channel }),
  });
  const say = ({ zh, en }: Words): string => context.say(zh, en);
  const origin = ({ source, assumed }: { source: string; assumed: boolean }): string =>
    `${assumed ? context.say('（推定）', ' (assumed)') : ''}  ${source}`;
  const named = (member: string): string => {
    for (const [prefix, words] of refusals)
      if (member.startsWith(prefix)) return `${say(words)} ${member.slice(prefix.length)}`;
    const label = labels[member];
    return label === undefined ? member : say(label);
  };
  const facts = found.facts.map((fact) => {
    const value = fact.value === true ? '' : `: ${formatValue(fact.value)}`;
    return `  ${named(fact.member)}${value}${origin(fact)}`;
  });
  const rules = found.rules.map((rule) => {
    const kind = kinds[rule.kind];
    const value = formatValue(rule.value);
    const what = `${kind === undefined ? rule.kind : say(kind)}${value === '' ? '' : ` ${value}`}`;
    return `  ${rule.member} (${rule.dialect}) ${what}${origin(rule)}`;
  });
  const nothing = context.say('  一无所知：请求按原样转述', '  nothing: requests are forwarded unchanged');
  const mapped = found.upstream_model === model ? '' : ` → ${found.upstream_model}`;
  context.output.object(
    found,
    [
      `${model}${mapped}, ${found.provider}`,
      context.say('已知：', 'known:'),
      ...(facts.length === 0 ? [nothing] : facts),
      ...(rules.length === 0 ? [] : [context.say('请求中会改动：', 'changed in requests:'), ...rules]),
    ],
    found.facts.map(({ member }) => member).join('\n'),
  );
};
