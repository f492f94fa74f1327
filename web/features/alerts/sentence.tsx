/** The sentence of a rule: its words, and its values as fields between them. */
import { Fragment, useId } from 'react';
import { useTranslation } from 'react-i18next';
import {
  alertRule,
  optionOfRule,
  type RuleOption,
  ruleEnd,
  ruleValueIssue,
  sentenceParts,
} from '../../../server/contract/alert-rules.ts';
import { textIn } from '../../../server/contract/language.ts';
import { optionRow } from '../../../server/contract/options.ts';
import { Select } from '../../components/select.tsx';
import { currentLanguage } from '../../lib/i18n.ts';
import type { AlertRule, AlertRules } from './rule.ts';

interface ValueProps {
  readonly name: RuleOption;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const shape =
  'mx-0.5 h-7 rounded-2 border border-line-control bg-surface px-1.5 text-center font-medium tabular-nums aria-invalid:border-danger';

/** As wide as what stands in it. */
function Value({ name, value, onChange }: ValueProps) {
  const id = useId();
  const language = currentLanguage();
  const { label, kind } = optionRow(optionOfRule(name));
  const words = textIn(label, language);
  if (kind.choices !== undefined)
    return (
      <span className="inline-block align-middle leading-5">
        <Select
          className={shape}
          label={words}
          value={value}
          options={kind.choices.map((one) => [one, one] as const)}
          onChange={onChange}
        />
      </span>
    );
  const issue = ruleValueIssue(name, value.trim());
  return (
    <>
      <input
        className={shape}
        style={{ width: `calc(${Math.max(2, value.length)}ch + 18px)` }}
        aria-label={words}
        aria-invalid={issue !== null}
        aria-describedby={issue === null ? undefined : id}
        inputMode="decimal"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      {issue === null ? null : (
        <span id={id} role="alert" className="text-[12px] text-danger">
          {textIn(issue, language)}
        </span>
      )}
    </>
  );
}

export interface RuleSentenceProps {
  readonly rule: AlertRule;
  readonly targets: AlertRules['targets'];
  /** What was typed and is not stored, by the names of options. */
  readonly drafts: Readonly<Record<string, string>>;
  readonly onChange: (name: RuleOption, value: string) => void;
}

export function RuleSentence({ rule, targets, drafts, onChange }: RuleSentenceProps) {
  const { t } = useTranslation();
  const language = currentLanguage();
  const parts = [
    ...sentenceParts(textIn(alertRule(rule.kind).sentence, language)),
    ...sentenceParts(textIn(ruleEnd, language)),
  ];
  let before = '';
  return parts.map((part) => {
    before += JSON.stringify(part);
    if ('text' in part) return <Fragment key={before}>{part.text}</Fragment>;
    if ('option' in part)
      return (
        <Value
          key={before}
          name={part.option}
          value={drafts[part.option] ?? rule.values[part.option] ?? ''}
          onChange={(value) => onChange(part.option, value)}
        />
      );
    return (
      <span key={before} className={targets.length === 0 ? 'text-ink-3' : 'font-medium'}>
        {targets.length === 0 ? t('alertRules.noTargets') : targets.join(language === 'zh' ? '、' : ', ')}
      </span>
    );
  });
}
