import { requestClasses, targetFailures } from '../../../server/contract/virtual-models.ts';
import type { CommandRow, Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const group: Flag = { flag: '--group <name>', zh: '分组（默认 default）', en: 'group (default: default)' };

const target: Flag = {
  flag: '--target <text...>',
  zh: '依次的目标：模型 channel= group= after= prompt_over= prompt_up_to= images= thinking= classes= agent_types=',
  en: 'targets in order: a model, then channel= group= after= prompt_over= prompt_up_to= images= thinking= classes= agent_types=',
};
const boundary: Flag = {
  flag: '--boundary <group>',
  zh: '任何请求都不越出此分组，留空则删除',
  en: 'no request leaves this group; empty removes it',
  clears: true,
};
const description: Flag = {
  flag: '--description <text>',
  zh: '说明，留空则删除',
  en: 'what it is for; empty removes it',
  clears: true,
};

const chain = verbRows(
  {
    name: 'model chain',
    zh: '虚拟模型',
    en: 'virtual models',
    one: 'virtual model',
    argument: ['<name>', '<name...>'],
    samples: ['coder', 'fast'],
    load: () => import('./chain.ts'),
  },
  ['list', 'get', 'enable', 'disable', 'rm'],
);

export const modelRows: readonly CommandRow[] = [
  {
    name: 'model list',
    zh: '模型、价格与渠道',
    en: 'models, their prices and channels',
    flags: [group],
    examples: ['model list', 'model list --group vip --json'],
    load: async () => (await import('./model.ts')).list,
  },
  {
    name: 'model explain',
    argument: '<model>',
    zh: '模型为何可用或不可用；在某渠道或上游：已知能力、改动与出处',
    en: 'why a model is available or not; at a channel or provider: what it takes',
    flags: [
      group,
      { flag: '--channel <id>', zh: '在此渠道', en: 'at this channel' },
      { flag: '--provider <slug>', zh: '在此类上游，如 mistral', en: 'at this kind of upstream, such as mistral' },
    ],
    examples: [
      'model explain gpt-4o',
      'model explain gpt-4o --group vip',
      'model explain mistral-large-latest --provider mistral',
      'model explain claude-opus-4-8 --channel 3 --json',
    ],
    load: async () => (await import('./model.ts')).explain,
  },
  chain.list,
  chain.get,
  {
    name: 'model chain add',
    zh: '新增虚拟模型：一个名称，依次尝试的目标',
    en: 'add a virtual model: a name, and targets that are tried in order',
    flags: [
      { flag: '--name <text>', zh: '客户端使用的模型名称', en: 'the model name that clients use' },
      target,
      boundary,
      description,
      { flag: '--disabled', zh: '暂不启用', en: 'do not enable it yet' },
    ],
    examples: [
      'model chain add --name coder --target gpt-5 claude-sonnet-4-5',
      'model chain add --name coder --target "haiku classes=subagent" opus',
      'model chain add --name big --target opus "flash after=rate_limited"',
    ],
    load: async () => (await import('./chain.ts')).add,
  },
  {
    name: 'model chain edit',
    argument: '<name>',
    zh: '修改虚拟模型；--target 换掉所有目标',
    en: 'change a virtual model; --target replaces all of its targets',
    flags: [{ flag: '--name <text>', zh: '新名称', en: 'another name' }, target, boundary, description],
    examples: ['model chain edit coder --target gpt-5 gpt-5-mini', 'model chain edit coder --boundary vip'],
    load: async () => (await import('./chain.ts')).edit,
  },
  chain.enable,
  chain.disable,
  chain.rm,
  {
    name: 'model chain try',
    argument: '<name>',
    zh: '请求会依次去哪些目标、各花多少，不发起调用',
    en: 'which targets a request would go to, in what order and at what price, without a call',
    flags: [
      group,
      { flag: '--token <name>', zh: '按此令牌的分组与模型列表', en: 'with the group and model list of this token' },
      { flag: '--prompt <tokens>', zh: '提示词长度', en: 'length of the prompt' },
      { flag: '--images', zh: '带图片', en: 'with images' },
      { flag: '--thinking', zh: '要求思考', en: 'asks to think' },
      {
        flag: '--class <word>',
        zh: `请求类别 ${requestClasses.join(' ')}`,
        en: `class of the request: ${requestClasses.join(', ')}`,
      },
      { flag: '--agent <name>', zh: '代理自称，如 Explore', en: 'what the agent calls itself, such as Explore' },
      {
        flag: '--failure <word>',
        zh: `失败方式 ${targetFailures.join(' ')}`,
        en: `how each target fails: ${targetFailures.join(', ')}`,
      },
      { flag: '--signed-turn', zh: '处于带签名思考的一轮之中', en: 'within a signed thinking turn' },
    ],
    examples: ['model chain try coder', 'model chain try coder --token laptop --class subagent --json'],
    load: async () => (await import('./chain.ts')).tryOut,
  },
];
