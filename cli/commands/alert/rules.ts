/** Alert rules as sentences, and what each would have said in the last seven days. */
import { type AlertKindName, alertKindNames } from '../../../server/contract/alert-kinds.ts';
import { type RuleOption, ruleOptions } from '../../../server/contract/alert-rules.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, texts } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';

type AlertRule = OutputOf<EndpointOf<'alert.rules'>>['rules'][number];
type Preview = OutputOf<EndpointOf<'alert.preview'>>;

function kindOf(name: string): AlertKindName {
  const found = alertKindNames.find((kind) => kind === name);
  if (found === undefined) throw new AppError('usage', { detail: `${name}: ${alertKindNames.join(', ')}` });
  return found;
}

function triedOf(assignments: readonly string[]): Partial<Record<RuleOption, string>> {
  return Object.fromEntries(
    assignments.map((assignment) => {
      const [name = '', ...value] = assignment.split('=');
      if (!ruleOptions.some((one) => one === name) || value.length === 0)
        throw new AppError('usage', { detail: `--try ${assignment}: ${ruleOptions.join(', ')}` });
      return [name, value.join('=')];
    }),
  );
}

/** How often a rule would have spoken, in words. */
export function countWords({ say }: Context, { past, count }: Preview): string {
  if (past === 'now') return count === 0 ? say('现在无事', 'nothing now') : say(`现在 ${count} 条`, `${count} now`);
  return count === 0 ? say('七天内无', 'never in 7 days') : say(`七天内 ${count} 次`, `in 7 days: ${count}`);
}

export const rules: CommandRun = async (context, flags, argument) => {
  const client = await context.client();
  const kind = argument === '' ? null : kindOf(argument);
  const values = triedOf(texts(flags.try));
  if (kind === null && Object.keys(values).length > 0)
    throw new AppError('usage', { detail: context.say('--try 需要一条规则', '--try needs one rule') });
  const all = (await client.call('alert.rules')).rules;
  const chosen = all.filter((rule) => kind === null || rule.kind === kind);
  const state = ({ muted, on }: AlertRule): string => (muted ? 'muted' : on ? 'on' : 'off');
  const previews: Preview[] = [];
  for (const rule of flags.preview === true ? chosen : [])
    previews.push(await context.during(client.call('alert.preview', { kind: rule.kind, ...values })));
  const [rule] = chosen;
  if (kind === null || rule === undefined) {
    const seen = new Map(previews.map((preview) => [preview.kind, preview]));
    const said = (row: AlertRule): string => {
      const preview = seen.get(row.kind);
      return preview === undefined ? '' : countWords(context, preview);
    };
    const last = (row: AlertRule): string => {
      const at = seen.get(row.kind)?.alerts[0]?.at;
      return at === undefined ? '' : isoTime(at);
    };
    if (context.output.isTty && context.output.format === 'table') {
      // A sentence is read, not compared: it has lines of its own.
      for (const row of chosen) {
        context.output.line([row.kind, state(row), said(row)].filter((word) => word !== '').join(' · '));
        context.output.line(`  ${row.sentence}`);
      }
      return;
    }
    context.output.list(
      chosen.map((row) => ({ ...row, preview: seen.get(row.kind) })),
      [
        { name: 'kind', value: (row) => row.kind },
        { name: 'state', value: state },
        ...(flags.preview === true
          ? [
              { name: 'said', value: said },
              { name: 'last', value: last },
            ]
          : []),
        { name: 'rule', value: (row) => row.sentence },
      ],
      (row) => row.kind,
    );
    return;
  }
  context.output.note(rule.sentence);
  const [preview] = previews;
  if (preview === undefined) {
    context.output.list(
      Object.entries(rule.values).map(([name, value]) => ({ option: `alert_setting.${name}`, value })),
      [
        { name: 'option', value: (row) => row.option },
        { name: 'value', value: (row) => row.value },
      ],
      (row) => `${row.option}=${row.value}`,
    );
    return;
  }
  context.output.note(countWords(context, preview));
  if (preview.past === 'now')
    context.output.note(
      context.say(
        '该规则不保留历史记录，只显示现在的告警。',
        'No history is kept for this rule: this is what it would send now.',
      ),
    );
  if (preview.coarse_until > 0)
    context.output.note(
      context.say(
        `${isoTime(preview.coarse_until)} 之前按小时统计`,
        `counted by the hour until ${isoTime(preview.coarse_until)}`,
      ),
    );
  context.output.list(
    preview.alerts,
    [
      { name: 'at', value: (row) => isoTime(row.at) },
      { name: 'about', value: (row) => row.subject },
      { name: 'text', value: (row) => row.text },
    ],
    (row) => `${isoTime(row.at)} ${row.subject}`,
  );
};
