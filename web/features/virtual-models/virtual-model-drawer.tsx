/** Makes a virtual model or edits one. */
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import {
  maxAgentTypes,
  maxNameLength,
  maxPrompt,
  maxTargets,
  maxTextLength,
} from '../../../server/contract/virtual-models.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { OrderedList } from '../../components/ordered-list.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { SuggestField } from '../../components/suggest.tsx';
import { useForm } from '../../components/use-form.ts';
import { ApiError, call } from '../../lib/api.ts';
import { TargetFields } from './target-fields.tsx';
import { placeIn, type TypedTarget, targetIn, typedTarget, type VirtualModelRow } from './target-form.ts';
import type { Market } from './use-virtual-models.ts';

const fieldNames = {
  virtual_model_taken: 'name',
  virtual_model_of_channel: 'name',
  virtual_model_used: 'name',
  virtual_model_cycle: 'targets',
  virtual_model_depth: 'targets',
  virtual_model_leaves: 'targets',
  virtual_model_boundary: 'targets',
} as const;

const bounds = { maxNameLength, maxTextLength, maxTargets, maxPrompt, maxAgentTypes };
/** Members that the console has words of its own for. */
const worded = [
  'name',
  'boundary',
  'description',
  'targets',
  'model',
  'channel',
  'group',
  'prompt_up_to',
  'agent_types',
] as const;

export interface VirtualModelDrawerProps {
  /** null = a new one. */
  readonly model: VirtualModelRow | null;
  readonly market: Market;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function VirtualModelDrawer({ model, market, onClose, onSaved }: VirtualModelDrawerProps) {
  const { t } = useTranslation();
  const nextKey = useRef(0);
  const targets = useRef<HTMLDivElement>(null);
  const [wrong, setWrong] = useState<{ readonly key: number; readonly member: string } | null>(null);
  const typedOf = (target: Parameters<typeof typedTarget>[0]) => typedTarget(target, nextKey.current++);
  const first = () => ({
    name: model?.name ?? '',
    description: model?.description ?? '',
    boundary: model?.boundary ?? '',
    targets: (model?.targets ?? [{}]).map(typedOf) as readonly TypedTarget[],
  });
  const { typed, field, ...form } = useForm(
    first,
    async ({ name, boundary, description, targets: chosen }) => {
      setWrong(null);
      const fields = {
        name: name.trim(),
        boundary: boundary.trim(),
        description: description.trim(),
        targets: chosen.map(targetIn),
      };
      try {
        if (model === null) await call('virtual_model.create', fields);
        else await call('virtual_model.update', { id: model.id, ...fields });
      } catch (failure) {
        throw inWords(failure, chosen);
      }
      onSaved();
    },
    fieldNames,
  );
  /** A refusal in the reader's words, once its place among the targets is known. */
  const inWords = (failure: unknown, chosen: readonly TypedTarget[]): unknown => {
    if (!(failure instanceof ApiError) || failure.code !== 'virtual_model_invalid') return failure;
    const named = String(failure.params.field ?? '');
    const place = placeIn(named);
    const target = place === null ? undefined : chosen[place.at];
    if (place !== null && target !== undefined) setWrong({ key: target.key, member: place.member });
    const member = worded.find((one) => one === (place?.member ?? named));
    return member === undefined
      ? failure
      : new ApiError(t(`virtualModels.wrong.${member}`, bounds), failure.code, failure.status, failure.params);
  };
  const chain = field('targets');
  const add = () => {
    flushSync(() => chain.onChange([...typed.targets, typedOf({})]));
    targets.current?.querySelector<HTMLInputElement>('ol > li:last-child input')?.focus();
  };
  return (
    <Sheet
      title={model === null ? t('virtualModels.add') : t('virtualModels.edit', { name: model.name })}
      dirty={form.dirty}
      onClose={onClose}
      footer={<FormFooter form="virtual-model-form" action={t('app.save')} onClose={onClose} disabled={form.busy} />}
    >
      <CheckedForm id="virtual-model-form" onSubmit={form.submit}>
        <TextField
          label={t('virtualModels.name')}
          help={t('virtualModels.nameHelp')}
          autoComplete="off"
          required
          {...field('name')}
        />
        <TextField label={t('virtualModels.description')} autoComplete="off" {...field('description')} />
        <SuggestField
          label={t('virtualModels.boundary')}
          help={t('virtualModels.boundaryHelp')}
          placeholder={t('virtualModels.noBoundary')}
          options={market.groups}
          {...field('boundary')}
        />
        <div ref={targets} className="mb-4">
          <h3 className="mb-1 text-[12px] leading-4 font-medium text-ink-2">{t('virtualModels.targets')}</h3>
          <p className="mb-2 text-[12px] leading-4 text-ink-3">{t('virtualModels.targetsHelp')}</p>
          <OrderedList
            label={t('virtualModels.targets')}
            items={typed.targets}
            nameOf={({ model: name }, at) => name || t('virtualModels.target', { place: at + 1 })}
            onChange={chain.onChange}
          >
            {(target) => (
              <TargetFields
                target={target}
                market={market}
                onChange={(change) =>
                  chain.onChange(typed.targets.map((one) => (one.key === target.key ? { ...one, ...change } : one)))
                }
                errorOf={(member) => (wrong?.key === target.key && wrong.member === member ? chain.error : undefined)}
              />
            )}
          </OrderedList>
          <p role="alert" className="mt-1 text-[12px] leading-4 text-danger">
            {wrong === null ? chain.error : null}
          </p>
          <button type="button" className="button mt-2" onClick={add}>
            <Icon name="plus" />
            {t('virtualModels.addTarget')}
          </button>
        </div>
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
    </Sheet>
  );
}
