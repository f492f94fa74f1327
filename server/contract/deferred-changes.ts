/** Members of a channel that the family knows and that do not act here yet: they are never sent, and the answer to saving them says so. */
import { isRuleProblem, readOperations } from './channel-rules.ts';
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

/** Members of a channel's `setting` that act, here or as the family calls them. */
export const channelSettings: ReadonlySet<string> = new Set(
  'force_format thinking_to_content proxy pass_through key_mode allow_tiers region dialect first_answer_seconds first_event_seconds upstream_idle_seconds cache_marks system_messages unknown_ids drain cost_ratio first_byte_seconds off_after upstream_streams trusted_usage channel_factor header_override system_prompt system_prompt_override bill_answered cache_diagnosis'.split(
    ' ',
  ),
);

/** The member of `param_override` by which new-api describes operations on the body. */
export const operations = 'operations';

export interface SavedChannel {
  readonly setting?: string | undefined;
  readonly param_override?: string | undefined;
  readonly settings?: string | undefined;
}

function membersOf(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Whether a setting says anything. */
export const isSet = (value: unknown): boolean =>
  value !== null &&
  value !== false &&
  value !== '' &&
  value !== 0 &&
  !(typeof value === 'object' && Object.keys(value).length === 0);

/** Rules that were taken from elsewhere, or stored before they were checked, and that cannot be read here: none of them acts. */
export function hasUnreadRules(param_override: string | undefined): boolean {
  const rules = membersOf(param_override)[operations];
  return rules !== undefined && isSet(rules) && isRuleProblem(readOperations(rules));
}

/** @returns names like `setting.system_prompt`, in the order of the fields. */
export function deferredChanges({ setting, param_override, settings }: SavedChannel): string[] {
  const named = (field: string, text: string | undefined, acts: (name: string) => boolean): string[] =>
    Object.entries(membersOf(text)).flatMap(([name, value]) =>
      acts(name) || !isSet(value) ? [] : [`${field}.${name}`],
    );
  return [
    ...named('setting', setting, (name) => channelSettings.has(name)),
    ...(hasUnreadRules(param_override) ? [`param_override.${operations}`] : []),
    ...named('settings', settings, () => false),
  ];
}

/** @param names as `deferredChanges` gives them, at least one. */
export const deferredChangesText = (names: readonly string[], language: Language): string =>
  textIn(
    {
      zh: `已保存；以下内容尚不起作用，也不会发送：${names.join('、')}`,
      en: `Saved; this does not act yet and is not sent: ${names.join(', ')}`,
    },
    language,
  );

/** About an object that is named beside it. @param names as above. */
export const deferredChangesNote = (names: readonly string[]): Text => ({
  zh: `以下内容尚不起作用，也不会发送：${names.join('、')}`,
  en: `this does not act yet and is not sent: ${names.join(', ')}`,
});
