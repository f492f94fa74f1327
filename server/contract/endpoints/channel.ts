/** Upstream channels, tags of them, and how requests are routed to them. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { channelShape } from '../entities.ts';
import { unsupportedSources } from '../unsupported-members.ts';
import { commaList, figure, id, jsonText, nothing, number, text, toggle } from './fields.ts';
import { explainedChainShape } from './virtual-model.ts';

const none = z.object({});
const pagination = { p: number, page_size: number };
const ids = z.array(id);
const testShape = z.object({
  id: z.int(),
  name: z.string(),
  success: z.boolean(),
  message: z.string(),
  /** Seconds. */
  time: z.number(),
  first_token_time: z.nullable(z.number()),
});

const keyShape = z.object({
  /** Names the key wherever it stands among the channel's keys. */
  key_id: z.string(),
  hint: z.string(),
  /** Refused: its upstream turned it down, and has not taken it since. */
  status: z.enum(['in_use', 'waiting', 'refused', 'off']),
  /** Until it is tried again; 0 = now. */
  wait_ms: z.int(),
  /** Until its upstream lets it work again, where it said so: it is tried before. */
  upstream_wait_ms: z.int(),
  /** Models at which it waits. */
  waiting_models: z.array(z.object({ model: z.string(), wait_ms: z.int() })),
  /** What its upstream said when it failed last; '' = it did not. */
  error: z.string(),
  /** Epoch seconds; 0 = never. */
  error_time: z.int(),
  used_time: z.int(),
});

const unsupportedShape = z.object({
  /** The model as the upstream calls it. */
  model: z.string(),
  /** `openai-chat:temperature`, `openai-responses:reasoning.effort=xhigh`. */
  member: z.string(),
  /** `absent`, or `function` for a type of tools. */
  demand: z.string(),
  source: z.enum(unsupportedSources),
  count: z.int(),
  /** Users who met it, two at most. */
  users: z.int(),
  /** It is left out of every request; else of the conversations that met it. */
  for_all: z.boolean(),
  /** Epoch seconds; 0 = it stays. */
  expires_time: z.int(),
  first_time: z.int(),
  last_time: z.int(),
});

const probePlan = {
  model: z.string(),
  upstream_model: z.string(),
  dialect: z.string(),
  calls: z.int(),
  /** Dollars at most, at the site's own prices; null = the model has none. */
  dollars: z.nullable(z.number()),
};

const channelFields = {
  type: number,
  name: text,
  key: text,
  openai_organization: text,
  test_model: text,
  status: number,
  weight: number,
  priority: number,
  base_url: text,
  other: text,
  models: commaList,
  group: commaList,
  groups: commaList,
  model_mapping: jsonText,
  status_code_mapping: jsonText,
  param_override: jsonText,
  setting: jsonText,
  auto_ban: number,
  tag: text,
  max_input_tokens: number,
  /** Comma list of keys that are switched off, by `key_id` or hint. */
  keys_off: text,
  /** The family's: headers that stand in `setting` here. */
  header_override: jsonText,
  /** The family's; it does not act yet, and the answer says so. */
  settings: jsonText,
};

export const channelEndpoints = [
  endpoint({
    id: 'channel.list',
    method: 'GET',
    path: '/api/channel/',
    access: 'admin',
    input: z.object({ ...pagination, id_sort: toggle, tag_mode: toggle, status: number, type: number }),
    output: z.array(channelShape),
    summary: { zh: '渠道列表', en: 'Channels' },
  }),
  endpoint({
    id: 'channel.search',
    method: 'GET',
    path: '/api/channel/search',
    access: 'admin',
    input: z.object({
      keyword: text,
      group: text,
      model: text,
      id_sort: toggle,
      tag_mode: toggle,
      status: number,
      type: number,
    }),
    output: z.array(channelShape),
    summary: { zh: '搜索渠道', en: 'Search channels' },
  }),
  endpoint({
    id: 'channel.selection',
    method: 'GET',
    path: '/api/channel/selection',
    access: 'admin',
    /** `filter`: `status=enabled,group=vip`; both must hold, and an empty one is refused: what selects for bulk work. */
    input: z.object({ tag: text, filter: text }),
    output: z.array(channelShape),
    summary: { zh: '批量操作所选的渠道', en: 'Channels that bulk work means' },
  }),
  endpoint({
    id: 'channel.models',
    method: 'GET',
    path: '/api/channel/models',
    access: 'admin',
    input: none,
    output: z.array(z.object({ id: z.string(), object: z.string(), created: z.int(), owned_by: z.string() })),
    summary: { zh: '模型目录', en: 'Model catalogue' },
  }),
  endpoint({
    id: 'channel.models_enabled',
    method: 'GET',
    path: '/api/channel/models_enabled',
    access: 'admin',
    input: none,
    output: z.array(z.string()),
    summary: { zh: '已启用模型', en: 'Enabled models' },
  }),
  endpoint({
    id: 'channel.types',
    method: 'GET',
    path: '/api/channel/types',
    access: 'admin',
    input: none,
    output: z.array(
      z.object({
        type: z.int(),
        slug: z.string(),
        zh: z.string(),
        en: z.string(),
        base_url: z.string(),
        key_hint: z.string(),
        /** How keys begin that are of this provider alone. */
        key_starts: z.array(z.string()),
        models: z.array(z.string()),
        other: z.nullable(z.object({ zh: z.string(), en: z.string(), fallback: z.string() })),
        /** Knows organizations. */
        organization: z.boolean(),
        /** Dialects it speaks in chat. */
        dialects: z.array(z.string()),
        dialect_labels: z.record(z.string(), z.string()),
      }),
    ),
    summary: { zh: '渠道类型', en: 'Channel types' },
  }),
  endpoint({
    id: 'channel.test_all',
    method: 'GET',
    path: '/api/channel/test',
    access: 'admin',
    input: none,
    output: nothing,
    summary: { zh: '测试所有渠道', en: 'Test all enabled channels' },
    mutation: true,
  }),
  endpoint({
    id: 'channel.test_many',
    method: 'POST',
    path: '/api/channel/batch/test',
    access: 'admin',
    input: z.object({ ids: z.optional(ids), tag: text, model: text, stream: toggle }),
    output: z.array(testShape),
    summary: { zh: '测试多个渠道', en: 'Test several channels' },
  }),
  endpoint({
    id: 'channel.balance_all',
    method: 'GET',
    path: '/api/channel/update_balance',
    access: 'admin',
    input: none,
    output: nothing,
    summary: { zh: '更新所有渠道余额', en: 'Refresh all balances' },
    mutation: true,
  }),
  endpoint({
    id: 'channel.balance',
    method: 'GET',
    path: '/api/channel/update_balance/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.object({ success: z.boolean(), message: z.string(), balance: z.number() }),
    summary: { zh: '更新渠道余额', en: 'Refresh a balance' },
    envelope: 'raw',
    mutation: true,
  }),
  endpoint({
    id: 'channel.fetch_models',
    method: 'GET',
    path: '/api/channel/fetch_models/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.array(z.string()),
    summary: { zh: '获取上游模型列表', en: 'Models of the upstream' },
  }),
  endpoint({
    id: 'channel.fetch_models_for',
    method: 'POST',
    path: '/api/channel/fetch_models',
    access: 'admin',
    input: z.object({ base_url: text, type: number, key: text }),
    output: z.array(z.string()),
    summary: { zh: '按密钥获取模型列表', en: 'Models behind a key' },
  }),
  endpoint({
    id: 'channel.delete_disabled',
    method: 'DELETE',
    path: '/api/channel/disabled',
    access: 'admin',
    input: none,
    output: z.int(),
    summary: { zh: '删除禁用渠道', en: 'Delete disabled channels' },
  }),
  endpoint({
    id: 'channel.delete_many',
    method: 'POST',
    path: '/api/channel/batch',
    access: 'admin',
    input: z.object({ ids }),
    output: z.int(),
    summary: { zh: '批量删除渠道', en: 'Delete several channels' },
  }),
  endpoint({
    id: 'channel.tag_many',
    method: 'POST',
    path: '/api/channel/batch/tag',
    access: 'admin',
    /** `dissolve`: they are to have none. */
    input: z.object({ ids, tag: text, dissolve: toggle }),
    output: z.int(),
    summary: { zh: '批量设置标签', en: 'Tag several channels' },
  }),
  endpoint({
    id: 'channel.status_many',
    method: 'POST',
    path: '/api/channel/batch/status',
    access: 'admin',
    input: z.object({ ids, status: number }),
    output: z.int(),
    summary: { zh: '批量启用或禁用渠道', en: 'Enable or disable several channels' },
  }),
  endpoint({
    id: 'channel.fix',
    method: 'POST',
    path: '/api/channel/fix',
    access: 'admin',
    input: none,
    output: z.int(),
    summary: { zh: '修复数据库一致性', en: 'Repair consistency' },
  }),
  endpoint({
    id: 'channel.copy',
    method: 'POST',
    path: '/api/channel/copy/:id',
    access: 'admin',
    input: z.object({ id }),
    output: channelShape,
    summary: { zh: '复制渠道', en: 'Copy a channel' },
  }),
  endpoint({
    id: 'channel.tag_edit',
    method: 'PUT',
    path: '/api/channel/tag',
    access: 'admin',
    input: z.object({
      tag: text,
      new_tag: text,
      priority: figure,
      weight: figure,
      model_mapping: jsonText,
      models: commaList,
      groups: commaList,
    }),
    output: z.int(),
    summary: { zh: '编辑标签', en: 'Edit the channels of a tag' },
  }),
  endpoint({
    id: 'channel.tag_enable',
    method: 'POST',
    path: '/api/channel/tag/enabled',
    access: 'admin',
    input: z.object({ tag: text }),
    output: z.int(),
    summary: { zh: '启用标签', en: 'Enable the channels of a tag' },
  }),
  endpoint({
    id: 'channel.tag_disable',
    method: 'POST',
    path: '/api/channel/tag/disabled',
    access: 'admin',
    input: z.object({ tag: text }),
    output: z.int(),
    summary: { zh: '禁用标签', en: 'Disable the channels of a tag' },
  }),
  endpoint({
    id: 'channel.get',
    method: 'GET',
    path: '/api/channel/:id',
    access: 'admin',
    input: z.object({ id }),
    output: channelShape,
    summary: { zh: '渠道详情', en: 'One channel' },
  }),
  endpoint({
    id: 'channel.create',
    method: 'POST',
    path: '/api/channel/',
    access: 'admin',
    /** The fields themselves, or as newer clients put them: in `channel`, with what several keys mean beside it. */
    input: z.object({
      ...channelFields,
      mode: text,
      multi_key_mode: text,
      channel: z.optional(z.object(channelFields)),
    }),
    output: z.array(channelShape),
    summary: { zh: '创建渠道', en: 'Create channels' },
  }),
  endpoint({
    id: 'channel.update',
    method: 'PUT',
    path: '/api/channel/',
    access: 'admin',
    input: z.object({ id, ...channelFields }),
    output: channelShape,
    summary: { zh: '修改渠道', en: 'Change a channel' },
  }),
  endpoint({
    id: 'channel.delete',
    method: 'DELETE',
    path: '/api/channel/:id',
    access: 'admin',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除渠道', en: 'Delete a channel' },
  }),
  endpoint({
    id: 'channel.test',
    method: 'GET',
    path: '/api/channel/test/:id',
    access: 'admin',
    input: z.object({ id, model: text, stream: toggle }),
    output: z.object({ success: z.boolean(), message: z.string(), time: z.number() }),
    summary: { zh: '测试渠道', en: 'Test a channel' },
    envelope: 'raw',
    mutation: true,
  }),
  endpoint({
    id: 'channel.keys',
    method: 'GET',
    path: '/api/channel/keys/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.array(keyShape),
    summary: { zh: '渠道的各个密钥', en: 'Keys of a channel' },
  }),
  endpoint({
    id: 'channel.key_update',
    method: 'PUT',
    path: '/api/channel/keys/:id/:key_id',
    access: 'admin',
    /** `key_id`, or a hint that one key alone has. */
    input: z.object({ id, key_id: z.string(), status: z.enum(['in_use', 'off']) }),
    output: keyShape,
    summary: { zh: '启用或停用渠道的一个密钥', en: 'Switch one key of a channel on or off' },
  }),
  endpoint({
    id: 'channel.key_test',
    method: 'POST',
    path: '/api/channel/keys/:id/:key_id/test',
    access: 'admin',
    input: z.object({ id, key_id: z.string(), model: text, stream: toggle }),
    output: z.object({ success: z.boolean(), message: z.string(), time: z.number() }),
    summary: { zh: '测试渠道的一个密钥', en: 'Test one key of a channel' },
    envelope: 'raw',
  }),
  endpoint({
    id: 'channel.unsupported',
    method: 'GET',
    path: '/api/channel/unsupported/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.array(unsupportedShape),
    summary: { zh: '渠道上游不接受的参数', en: 'Members that the upstream of a channel does not take' },
  }),
  endpoint({
    id: 'channel.unsupported_store',
    method: 'POST',
    path: '/api/channel/unsupported/:id',
    access: 'admin',
    /** `probe`: found by asking the upstream. */
    input: z.object({
      id,
      source: z.optional(z.enum(['hand', 'probe'])),
      members: z.array(z.object({ model: z.string(), member: z.string() })),
    }),
    output: z.array(unsupportedShape),
    summary: { zh: '记录渠道上游不接受的参数', en: 'Store members that the upstream of a channel does not take' },
  }),
  endpoint({
    id: 'channel.unsupported_confirm',
    method: 'PUT',
    path: '/api/channel/unsupported/:id',
    access: 'admin',
    /** It holds for every request from now on, and stays. */
    input: z.object({ id, model: z.string(), member: z.string() }),
    output: unsupportedShape,
    summary: { zh: '确认渠道上游不接受的参数', en: 'Confirm a member that the upstream of a channel does not take' },
  }),
  endpoint({
    id: 'channel.unsupported_delete',
    method: 'POST',
    path: '/api/channel/unsupported/:id/delete',
    access: 'admin',
    input: z.object({ id, model: z.string(), member: z.string() }),
    output: nothing,
    summary: { zh: '删除渠道上游不接受的参数', en: 'Delete a member that the upstream of a channel does not take' },
  }),
  endpoint({
    id: 'channel.probe_plan',
    method: 'GET',
    path: '/api/channel/probe/:id',
    access: 'admin',
    input: z.object({ id, model: text }),
    output: z.object(probePlan),
    summary: { zh: '探测渠道上游的费用', en: 'What probing the upstream of a channel costs' },
  }),
  endpoint({
    id: 'channel.probe',
    method: 'POST',
    path: '/api/channel/probe/:id',
    access: 'admin',
    input: z.object({ id, model: text }),
    output: z.object({
      ...probePlan,
      lines: z.array(
        z.object({
          question: z.string(),
          upstream: z.enum(['taken', 'refused', 'unclear']),
          rows: z.enum(['taken', 'left out']),
          differs: z.boolean(),
          /** What can be stored of it; '' = nothing. */
          member: z.string(),
          /** What the upstream said; '' = it took it. */
          words: z.string(),
        }),
      ),
      /** Dollars that the answers' usage comes to; null = the model has no price. */
      spent: z.nullable(z.number()),
    }),
    summary: { zh: '探测渠道上游接受什么', en: 'Ask the upstream of a channel what it takes' },
  }),
  endpoint({
    id: 'channel.practice',
    method: 'POST',
    path: '/api/channel/practice',
    access: 'admin',
    input: none,
    output: z.object({ type: z.int(), base_url: z.string(), models: z.array(z.string()) }),
    summary: {
      zh: '启动服务器内置的模拟上游',
      en: 'Start the practice upstream inside the server; what a channel to it takes',
    },
  }),
  endpoint({
    id: 'channel.try',
    method: 'POST',
    path: '/api/channel/try',
    access: 'admin',
    /** `id`: a stored channel with these changes; its key where none is given. */
    input: z.object({ id: number, ...channelFields, model: text, stream: toggle }),
    output: z.object({
      success: z.boolean(),
      message: z.string(),
      /** Seconds. */
      time: z.number(),
      first_token_time: z.nullable(z.number()),
    }),
    summary: { zh: '保存前测试渠道', en: 'Test a channel before it is saved' },
    envelope: 'raw',
  }),
  endpoint({
    id: 'route.explain',
    method: 'GET',
    path: '/api/route/explain',
    access: 'admin',
    input: z.object({ model: text, group: text, token: text }),
    output: z.object({
      model: z.string(),
      group: z.string(),
      /** The groups of a key with several, in the order in which they are tried; `group` is the first that serves the model. */
      groups: z.optional(z.array(z.string())),
      /** Ids of the channels that the key is bound to. */
      bound: z.optional(z.array(z.int())),
      channels: z.array(
        z.object({
          channel_id: z.int(),
          name: z.string(),
          priority: z.int(),
          weight: z.int(),
          share: z.number(),
          condition: z.string(),
          wait_ms: z.int(),
          upstream_model: z.string(),
          /** Members that are left out of every request. */
          not_sent: z.array(z.string()),
        }),
      ),
      left_out: z.array(z.object({ channel_id: z.int(), name: z.string(), reason: z.string() })),
      /** Where the name is a virtual model's: its targets, for a plain request whose every target is unavailable. */
      chain: z.optional(explainedChainShape),
    }),
    summary: { zh: '解释路由选择', en: 'Why a model is routed as it is' },
  }),
  endpoint({
    id: 'route.preview',
    method: 'POST',
    path: '/api/route/preview',
    access: 'admin',
    mutation: false,
    input: z.object({
      /** Absent = the request's. */
      model: text,
      /** Absent = the one that serves the model first. */
      channel: number,
      group: text,
      token: text,
      /** Absent = that of chats in OpenAI's dialect. */
      path: text,
      /** Absent = a short chat. */
      body: jsonText,
      /** Headers of the client. */
      headers: z.optional(z.record(z.string(), z.string())),
      stream: toggle,
    }),
    output: z.object({
      channel_id: z.int(),
      channel_name: z.string(),
      model: z.string(),
      upstream_model: z.string(),
      dialect: z.string(),
      translated: z.boolean(),
      /** A signature or a token of the provider's is added when it is sent. */
      signed: z.boolean(),
      /** `{api_key}` stands for the key. */
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.nullable(z.string()),
      dropped: z.array(z.string()),
    }),
    summary: { zh: '预览发往上游的请求（不发送）', en: 'A request as it would go upstream, without sending it' },
  }),
] as const;
