/** One target: the model, and in a fold where it is served and what it is for. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import { requestClasses, targetFailures, targetMembers } from '../../../server/contract/virtual-models.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { TargetPrice } from '../../components/prices/target-price.tsx';
import { Segment } from '../../components/segment.tsx';
import { SelectField } from '../../components/select.tsx';
import { SuggestField } from '../../components/suggest.tsx';
import { WordToggles } from '../../components/word-toggles.tsx';
import { conditionWords } from './condition-words.ts';
import { promptBounds, type TypedTarget } from './target-form.ts';
import type { Market } from './use-virtual-models.ts';

export interface TargetFieldsProps {
  readonly target: TypedTarget;
  readonly market: Market;
  readonly onChange: (change: Partial<TypedTarget>) => void;
  /** What the server has against a member. */
  readonly errorOf: (member: string) => string | undefined;
}

const flags = ['', 'true', 'false'] as const;
const folded = targetMembers.filter((member) => member !== 'model');
const isReadable = (tokens: string): boolean =>
  tokens.trim() === '' || parseNumber(tokens, promptBounds).kind === 'value';

export function TargetFields({ target, market, onChange, errorOf }: TargetFieldsProps) {
  const { t } = useTranslation();
  const { model, channel, group, after, over, upTo, classes, agents } = target;
  const [open, setOpen] = useState(false);
  // What is wrong stays in sight.
  const isOpen =
    open || folded.some((member) => errorOf(member) !== undefined) || !isReadable(over) || !isReadable(upTo);
  const serving = market.channelsOf(model);
  const channels = [
    ['', t('virtualModels.anyChannel')] as const,
    ...serving,
    ...(channel === '' || serving.some(([id]) => id === channel) ? [] : [[channel, `#${channel}`] as const]),
  ];
  const price = market.priceOf({ model, ...(group === '' ? {} : { group }) });
  const conditions = [
    ...(channel === '' ? [] : [channels.find(([id]) => id === channel)?.[1] ?? channel]),
    ...(group === '' ? [] : [group]),
    ...conditionWords(t, target),
  ];
  const flag = (name: 'images' | 'thinking') => (
    <Field label={t(`virtualModels.${name}`)} error={errorOf(name)}>
      {() => (
        <Segment
          label={t(`virtualModels.${name}`)}
          value={target[name]}
          options={flags.map((one) => [one, t(`virtualModels.flag${one}`)] as const)}
          onChange={(value) => onChange({ [name]: value })}
        />
      )}
    </Field>
  );
  return (
    <>
      <SuggestField
        label={t('virtualModels.model')}
        value={model}
        options={market.models}
        error={errorOf('model')}
        onChange={(value) => onChange({ model: value, channel: '' })}
      />
      {price === null ? null : (
        <p className="-mt-3 mb-2 text-[12px] leading-4">
          <TargetPrice price={price} />
        </p>
      )}
      <button
        type="button"
        className="flex min-h-6 items-center gap-1 text-left text-[12px] text-ink-2 max-sm:min-h-11"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={isOpen ? '' : '-rotate-90'}>
          <Icon name="down" />
        </span>
        {conditions.length === 0 ? t('virtualModels.more') : conditions.join(' · ')}
      </button>
      {isOpen ? (
        <div className="mt-2 grid gap-x-3 sm:grid-cols-2">
          <SelectField
            label={t('virtualModels.channel')}
            value={channel}
            options={channels}
            error={errorOf('channel')}
            onChange={(value) => onChange({ channel: value })}
          />
          <SuggestField
            label={t('virtualModels.group')}
            placeholder={t('virtualModels.ownGroup')}
            value={group}
            options={market.groups}
            error={errorOf('group')}
            onChange={(value) => onChange({ group: value })}
          />
          <div className="sm:col-span-2">
            <WordToggles
              label={t('virtualModels.after')}
              help={t('virtualModels.afterHelp')}
              error={errorOf('after')}
              values={after}
              options={targetFailures.map((one) => [one, t(`virtualModels.failure.${one}`)] as const)}
              onChange={(values) => onChange({ after: values })}
            />
          </div>
          <NumberField
            label={t('virtualModels.over')}
            unit={t('virtualModels.tokens')}
            empty={t('virtualModels.noLimit')}
            bounds={promptBounds}
            value={over}
            error={errorOf('prompt_over')}
            onChange={(value) => onChange({ over: value })}
          />
          <NumberField
            label={t('virtualModels.upTo')}
            unit={t('virtualModels.tokens')}
            empty={t('virtualModels.noLimit')}
            bounds={promptBounds}
            value={upTo}
            error={errorOf('prompt_up_to')}
            onChange={(value) => onChange({ upTo: value })}
          />
          {flag('images')}
          {flag('thinking')}
          <div className="sm:col-span-2">
            <WordToggles
              label={t('virtualModels.classes')}
              help={t('virtualModels.classesHelp')}
              error={errorOf('classes')}
              values={classes}
              options={requestClasses.map((one) => [one, t(`virtualModels.class.${one}`)] as const)}
              onChange={(values) => onChange({ classes: values })}
            />
            <TextField
              label={t('virtualModels.agents')}
              help={t('virtualModels.agentsHelp')}
              autoComplete="off"
              value={agents}
              error={errorOf('agent_types')}
              onChange={(value) => onChange({ agents: value })}
            />
          </div>
        </div>
      ) : null}
    </>
  );
}
