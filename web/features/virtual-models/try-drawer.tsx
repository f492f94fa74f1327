/** Where a request for a virtual model would go, told without sending one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import {
  type RequestClass,
  requestClasses,
  type TargetFailure,
  targetFailures,
} from '../../../server/contract/virtual-models.ts';
import { valueIn } from '../../components/amount.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FailureNote } from '../../components/failure.tsx';
import { TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { TargetPrice } from '../../components/prices/target-price.tsx';
import { SelectField } from '../../components/select.tsx';
import { SuggestField } from '../../components/suggest.tsx';
import { call } from '../../lib/api.ts';
import { useList } from '../../lib/read.ts';
import { promptBounds, type VirtualModelRow } from './target-form.ts';
import type { Market } from './use-virtual-models.ts';

type Explained = OutputOf<EndpointOf<'virtual_model.try'>>;

/** Why a target is not tried, as the server names it. */
const reasons = [
  'no_channel',
  'no_price',
  'conditions',
  'turn',
  'not_after',
  'not_needed',
  'boundary',
  'group',
] as const;

function Target({ target, last }: { readonly target: Explained['targets'][number]; readonly last: boolean }) {
  const { t } = useTranslation();
  const { model, group, channel, path, order, outcome, price, channels } = target;
  const reason = reasons.find((one) => one === outcome);
  const within = path.filter((name) => name !== model);
  const status =
    order === 1
      ? t('virtualModels.taken')
      : order > 1
        ? t('virtualModels.then', { place: order })
        : reason === undefined
          ? outcome
          : t(`virtualModels.reason.${reason}`);
  return (
    <li className={`grid gap-0.5 py-2 ${last ? '' : 'border-b border-line'}`}>
      <span className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className={`min-w-0 break-words ${order === 0 ? 'text-ink-3' : 'font-medium text-ink-1'}`}>{model}</span>
        <span className={order === 1 ? 'status' : order > 1 ? 'text-ink-2' : 'status status-off'}>{status}</span>
      </span>
      <span className="flex flex-wrap justify-between gap-x-3 text-[12px] text-ink-3">
        <span className="min-w-0 break-words">
          {[
            t('virtualModels.inGroup', { group }),
            ...(within.length === 0 ? [] : [within.join(' → ')]),
            channels.map(({ name, channel_id: id }) => `${name} #${id}`).join(', ') ||
              (channel === null ? t('virtualModels.noServing') : `#${channel}`),
          ].join(' · ')}
        </span>
        <TargetPrice price={price} />
      </span>
    </li>
  );
}

const plain = { group: '', token: '', prompt: '', agent: '' };

export interface TryDrawerProps {
  readonly model: VirtualModelRow;
  readonly market: Market;
  readonly onClose: () => void;
}

export function TryDrawer({ model: { name }, market, onClose }: TryDrawerProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState(plain);
  const [requestClass, setRequestClass] = useState<RequestClass | ''>('');
  const [failure, setFailure] = useState<TargetFailure>('unavailable');
  const [flags, setFlags] = useState({ images: false, thinking: false, signed: false });
  const [asked, setAsked] = useState<Parameters<typeof call<'virtual_model.try'>>[1]>({ name });
  const tried = useList({ queryKey: ['virtual-model-try', asked], queryFn: () => call('virtual_model.try', asked) });
  const text = (member: keyof typeof plain) => ({
    value: typed[member],
    onChange: (value: string) => setTyped({ ...typed, [member]: value }),
  });
  const submit = () =>
    setAsked({
      name,
      group: typed.group.trim(),
      token: typed.token.trim(),
      ...(typed.prompt.trim() === '' ? {} : { prompt_tokens: valueIn(parseNumber(typed.prompt, promptBounds)) }),
      images: flags.images,
      thinking: flags.thinking,
      ...(requestClass === '' ? {} : { class: requestClass }),
      agent_type: typed.agent.trim(),
      failure,
      signed_turn: flags.signed,
    });
  const found = tried.failure === null ? tried.data : undefined;
  return (
    <Sheet
      title={t('virtualModels.tryTitle', { name })}
      onClose={onClose}
      footer={
        <button type="submit" form="virtual-model-try" className="button button-primary">
          {t('virtualModels.tryNow')}
        </button>
      }
    >
      <p className="mb-3 text-[12px] leading-4 text-ink-3">{t('virtualModels.tryHelp')}</p>
      <section aria-label={t('virtualModels.route')} aria-live="polite" className="mb-5">
        <h3 className="text-[12px] leading-4 font-medium text-ink-2">{t('virtualModels.route')}</h3>
        {tried.failure === null ? null : <FailureNote failure={tried.failure} />}
        {found === undefined ? null : (
          <>
            {found.targets.some(({ order }) => order === 1) ? null : (
              <p className="mt-1 text-danger">{t('virtualModels.noTarget')}</p>
            )}
            <ol className="mt-1">
              {found.targets.map((target, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a model may be a target twice
                <Target key={at} target={target} last={at === found.targets.length - 1} />
              ))}
            </ol>
            {found.boundary === '' ? null : (
              <p className="text-[12px] text-ink-3">{t('virtualModels.never', { group: found.boundary })}</p>
            )}
            {found.not_allowed.length === 0 ? null : (
              <p className="mt-1 text-danger">
                {t('virtualModels.notAllowed', { models: found.not_allowed.join(', ') })}
              </p>
            )}
          </>
        )}
      </section>
      <CheckedForm id="virtual-model-try" onSubmit={submit}>
        <div className="grid gap-x-3 sm:grid-cols-2">
          <SuggestField
            label={t('virtualModels.keyGroup')}
            placeholder="default"
            options={market.groups}
            {...text('group')}
          />
          <TextField
            label={t('virtualModels.key')}
            help={t('virtualModels.keyHelp')}
            autoComplete="off"
            {...text('token')}
          />
          <NumberField
            label={t('virtualModels.prompt')}
            unit={t('virtualModels.tokens')}
            empty="0"
            bounds={promptBounds}
            {...text('prompt')}
          />
          <SelectField
            label={t('virtualModels.failing')}
            value={failure}
            options={targetFailures.map((one) => [one, t(`virtualModels.failure.${one}`)] as const)}
            onChange={setFailure}
          />
          <SelectField
            label={t('virtualModels.requestClass')}
            value={requestClass}
            options={[
              ['', t('virtualModels.noClass')] as const,
              ...requestClasses.map((one) => [one, t(`virtualModels.class.${one}`)] as const),
            ]}
            onChange={setRequestClass}
          />
          <TextField label={t('virtualModels.agent')} autoComplete="off" {...text('agent')} />
        </div>
        {(['images', 'thinking', 'signed'] as const).map((flag) => (
          <label key={flag} className="flex items-center gap-2 py-1 max-sm:min-h-11">
            <input
              type="checkbox"
              className="size-4 flex-none accent-(--accent)"
              checked={flags[flag]}
              onChange={({ target }) => setFlags({ ...flags, [flag]: target.checked })}
            />
            {t(`virtualModels.try_${flag}`)}
          </label>
        ))}
      </CheckedForm>
    </Sheet>
  );
}
