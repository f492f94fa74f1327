/** What the channel form holds, and how it becomes fields of the wire. */

import { parseNumber } from '../../../server/contract/amount.ts';
import { isChannelAddress } from '../../../server/contract/channel-address.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { valueIn } from '../../components/amount.ts';
import { isJsonObject } from './json.ts';
import { namesIn } from './model-list.ts';

export interface ChannelType {
  readonly type: number;
  readonly slug: string;
  readonly zh: string;
  readonly en: string;
  readonly base_url: string;
  readonly key_hint: string;
  /** How its keys begin, where no other's do. */
  readonly key_starts: readonly string[];
  readonly models: readonly string[];
  /** What the channel's own field means here, and what empty stands for. */
  readonly other: { readonly zh: string; readonly en: string; readonly fallback: string } | null;
  /** Knows organizations. */
  readonly organization: boolean;
  /** Dialects it speaks in chat. */
  readonly dialects: readonly string[];
  /** As their makers call them. */
  readonly dialect_labels: Readonly<Record<string, string>>;
}

/** The family's table goes down to this. */
export const priorityBounds = { integer: true, min: -999_999_999, max: 999_999_999 } as const;
/** In the list, as the documents have it. */
export const listedPriorityBounds = { ...priorityBounds, min: -999 } as const;
export const weightBounds = { integer: true, max: 999_999_999 } as const;

/** @param channel null = a new one. */
export const formOf = (channel: Channel | null) => ({
  type: channel?.type ?? 1,
  name: channel?.name ?? '',
  key: '',
  base_url: channel?.base_url ?? '',
  other: channel?.other ?? '',
  models: channel?.models ?? '',
  group: channel?.group ?? 'default',
  model_mapping: channel?.model_mapping ?? '',
  status_code_mapping: channel?.status_code_mapping ?? '',
  param_override: channel?.param_override ?? '',
  setting: channel?.setting ?? '',
  openai_organization: channel?.openai_organization ?? '',
  test_model: channel?.test_model ?? '',
  auto_ban: (channel?.auto_ban ?? 1) === 1,
  priority: String(channel?.priority ?? 0),
  weight: String(channel?.weight ?? 0),
  tag: channel?.tag ?? '',
});
export type ChannelForm = ReturnType<typeof formOf>;

/** Of a form whose numbers can be read. */
export const fieldsOf = (form: ChannelForm) => ({
  ...form,
  name: form.name.trim(),
  base_url: form.base_url.trim().replace(/\/$/, ''),
  models: [...new Set(namesIn(form.models))].join(','),
  other: form.other.trim(),
  key: form.key === '' ? undefined : form.key,
  auto_ban: form.auto_ban ? 1 : 0,
  priority: valueIn(parseNumber(form.priority, priorityBounds)),
  weight: valueIn(parseNumber(form.weight, weightBounds)),
});

const jsonFields = ['status_code_mapping', 'param_override', 'setting'] as const;

/** Labels of the fields that hold JSON. */
const jsonLabels = {
  status_code_mapping: 'channels.statusMapping',
  param_override: 'channels.override',
  setting: 'channels.setting',
} as const satisfies Record<(typeof jsonFields)[number], string>;

/** @returns the label of the first field that should hold JSON and does not; null = all are well. */
export function badJsonIn(form: ChannelForm): (typeof jsonLabels)[keyof typeof jsonLabels] | null {
  const bad = jsonFields.find((name) => !isJsonOrBlank(form[name]));
  return bad === undefined ? null : jsonLabels[bad];
}

/** An upstream's address, or nothing: then the provider's own is asked. */
export const isAddressOrBlank = (text: string): boolean => text.trim() === '' || isChannelAddress(text.trim());

/** @returns a key of `channels` that says what is missing. */
export function issueOf(form: ChannelForm, isNew: boolean) {
  if (isNew && (form.name.trim() === '' || form.key.trim() === '')) return 'channels.required';
  if (namesIn(form.models).length === 0) return 'channels.modelsRequired';
  if (!isAddressOrBlank(form.base_url)) return 'channels.badAddress';
  if (!isJsonOrBlank(form.model_mapping)) return 'channels.badMapping';
  if (isRulePartial(form.setting)) return 'channels.offRuleAll';
  return badJsonIn(form) === null ? null : 'channels.badJsonIn';
}

export const isJsonOrBlank = (text: string): boolean => text.trim() === '' || isJsonObject(text);

/** @returns null when the text is no JSON object. */
export function settingIn(text: string): Readonly<Record<string, unknown>> | null {
  if (text.trim() === '') return {};
  return isJsonObject(text) ? (JSON.parse(text) as Record<string, unknown>) : null;
}

export const ruleMembers = ['errors', 'minutes', 'half_open_minutes'] as const;

/** A rule without one of its numbers would be none, in silence. */
function isRulePartial(setting: string): boolean {
  const rule = settingIn(setting)?.off_after;
  const members = Object(rule) as Readonly<Record<string, unknown>>;
  return rule !== undefined && !ruleMembers.every((name) => typeof members[name] === 'number');
}

/** One member changed, the others as they were. @param value undefined, false and '' remove it. */
export function withSetting(
  text: string,
  name: string,
  value: string | boolean | number | object | undefined,
  keepsFalse = false,
): string {
  const { [name]: _, ...rest } = settingIn(text) ?? {};
  const isUnset = value === undefined || value === '' || (value === false && !keepsFalse);
  const next = isUnset ? rest : { ...rest, [name]: value };
  return Object.keys(next).length === 0 ? '' : JSON.stringify(next, null, 2);
}

/** An address that names the version itself. */
export const endsInVersion = (address: string): boolean => /\/v1\/?$/.test(address.trim());
