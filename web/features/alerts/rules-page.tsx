/** Alert rules as sentences whose values are changed where they stand, and what each would have said in the last seven days. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { optionOfRule, type RuleOption, repeatName } from '../../../server/contract/alert-rules.ts';
import { FailureNote } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useDirty } from '../../lib/dirty-form.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { Preview } from './preview.tsx';
import { type AlertRule, type AlertRules, isAllowed } from './rule.ts';
import { RuleSentence } from './sentence.tsx';

interface RuleRowProps {
  readonly rule: AlertRule;
  readonly targets: AlertRules['targets'];
  /** Stores options, one after the other. @returns false when one was not. */
  readonly onSave: (values: Readonly<Record<string, string>>) => Promise<boolean>;
  readonly onMute: (muted: boolean) => void;
}

function RuleRow({ rule, targets, onSave, onMute }: RuleRowProps) {
  const { t } = useTranslation();
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const changed = Object.fromEntries(Object.entries(drafts).filter(([name, value]) => value !== rule.values[name]));
  const isChanged = Object.keys(changed).length > 0;
  const isValid = isAllowed(changed);
  useDirty(isChanged);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-2 border-b border-line px-4 py-3 last:border-b-0 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <form
        noValidate
        aria-label={rule.label}
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && isValid) void onSave(changed).then((isSaved) => isSaved && setDrafts({}));
        }}
      >
        <div className="mb-1 flex min-h-6 flex-wrap items-center gap-x-3">
          <h2 className="font-semibold">{rule.label}</h2>
          <span className={rule.on ? 'status' : 'status status-off'}>
            {t(rule.muted ? 'alertRules.muted' : rule.on ? 'alertRules.on' : 'alertRules.off')}
          </span>
          <button
            type="button"
            className="button button-ghost ml-auto text-ink-2"
            aria-label={`${t(rule.muted ? 'alertRules.unmute' : 'alertRules.mute')}: ${rule.label}`}
            onClick={() => onMute(!rule.muted)}
          >
            {t(rule.muted ? 'alertRules.unmute' : 'alertRules.mute')}
          </button>
        </div>
        <p className={`leading-8 ${rule.on || isChanged ? '' : 'text-ink-2'}`}>
          <RuleSentence
            rule={rule}
            targets={targets}
            drafts={drafts}
            onChange={(name, value) => setDrafts((before) => ({ ...before, [name]: value }))}
          />
        </p>
        {isChanged ? (
          <div className="mt-2 flex flex-wrap gap-2">
            <button type="submit" className="button button-primary">
              {t('app.save')}
            </button>
            <button type="button" className="button" onClick={() => setDrafts({})}>
              {t('alertRules.discard')}
            </button>
          </div>
        ) : null}
      </form>
      <Preview rule={rule} tried={changed} />
    </li>
  );
}

export function AlertRulesPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const list = useList({
    queryKey: ['alert-rules', currentLanguage()],
    queryFn: () => call('alert.rules'),
  });
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ['alert-rules'] });
    await client.invalidateQueries({ queryKey: ['alert-preview'] });
  };
  const save = async (values: Readonly<Record<string, string>>) => {
    const isSaved = await attempt(async () => {
      for (const [name, value] of Object.entries(values)) await call('option.set', { key: name, value });
    }, t('settings.saved'));
    await refresh();
    return isSaved;
  };
  const rules = list.data?.rules ?? [];
  const mute = (kind: string, muted: boolean) => {
    const others = rules.filter((rule) => rule.muted && rule.kind !== kind).map((rule) => rule.kind);
    return save({ 'alert_setting.muted': (muted ? [...others, kind] : others).join(',') });
  };
  return (
    <>
      <PageHead title={t('alertRules.title')} count={list.data?.rules.length}>
        <Link href="/setting?tab=operation#alertTargets" className="button">
          {t('alertRules.recipients')}
        </Link>
      </PageHead>
      <div className="px-5 pb-6">
        <p className="mb-3 text-ink-2">
          {t('alertRules.about', { count: Number(rules[0]?.values[repeatName] ?? 24) })}
        </p>
        {list.data?.targets.length === 0 ? (
          <p className="mb-3 rounded-1 border-l-2 border-warning-solid bg-warning-soft px-3 py-2 text-warning">
            {t('alertRules.nobody')}{' '}
            <Link href="/setting?tab=operation#alertTargets" className="underline">
              {t('alertRules.addRecipients')}
            </Link>
          </p>
        ) : null}
        {list.failure === null ? null : <FailureNote failure={list.failure} />}
        {list.data === undefined ? (
          list.failure === null ? (
            <Waiting />
          ) : null
        ) : (
          <ul aria-label={t('alertRules.title')} className="rounded-3 border border-line bg-surface">
            {rules.map((rule) => (
              <RuleRow
                key={rule.kind}
                rule={rule}
                targets={list.data?.targets ?? []}
                onSave={(values) =>
                  save(
                    Object.fromEntries(
                      Object.entries(values).map(([name, value]) => [optionOfRule(name as RuleOption), value.trim()]),
                    ),
                  )
                }
                onMute={(muted) => void mute(rule.kind, muted)}
              />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}
