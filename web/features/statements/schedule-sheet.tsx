/** A statement by mail: planned for what is looked at, and all that are planned: paused, resumed, deleted, with what became of the last mail. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import {
  type ScheduleEvery,
  type StatementSchedule,
  scheduleEvery,
} from '../../../server/contract/statement-schedule.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { Segment } from '../../components/segment.tsx';
import { useForm } from '../../components/use-form.ts';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { day } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

type Scope = Parameters<typeof call<'statement.schedule'>>[1];

interface ScheduleSheetProps {
  readonly scope: Scope;
  /** What it is of. */
  readonly name: string;
  readonly onClose: () => void;
}

const isBad = (state: StatementSchedule['state']): boolean => state === 'failed' || state === 'unknown';

function Planned() {
  const { t, i18n } = useTranslation();
  const client = useQueryClient();
  const all = isAdmin(useUser());
  const schedules = useRead({
    queryKey: ['schedules', all],
    queryFn: () => call('statement.schedules', all ? { all } : {}),
  }).data;
  if (schedules === undefined) return <Waiting />;
  if (schedules.length === 0) return <p className="text-ink-2">{t('statement.mail.none')}</p>;
  const change = async (work: Promise<unknown>) => {
    await attempt(() => work, t('settings.saved'));
    await client.invalidateQueries({ queryKey: ['schedules'] });
  };
  return (
    <ul className="border-t border-line">
      {schedules.map((one) => (
        <li key={one.id} className="flex flex-wrap items-center gap-x-2 gap-y-1 border-b border-line py-2">
          <span className="min-w-0 flex-1">
            <span className="block break-words">
              {t(`statement.mail.of.${one.every}`, { name: one.name, to: one.email || one.username })}
            </span>
            <span className="block text-[12px] text-ink-3">
              <span className={isBad(one.state) ? 'status status-bad' : one.paused ? 'status status-off' : 'status'}>
                {one.paused ? t('statement.mail.paused') : t(`statement.mail.states.${one.state}`)}
              </span>
              {one.period === '' ? '' : ` · ${one.period} · ${day(one.tried_time, i18n.language)}`}
              {one.error === '' ? '' : ` · ${one.error}`}
            </span>
          </span>
          <button
            type="button"
            className="button"
            onClick={() => void change(call('statement.edit_schedule', { id: one.id, paused: !one.paused }))}
          >
            {t(one.paused ? 'statement.mail.resume' : 'statement.mail.pause')}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => void change(call('statement.delete_schedule', { id: one.id }))}
          >
            {t('app.delete')}
          </button>
        </li>
      ))}
    </ul>
  );
}

export function ScheduleSheet({ scope, name, onClose }: ScheduleSheetProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const mayAddress = isAdmin(useUser());
  const { field, ...form } = useForm(
    (): { every: ScheduleEvery; email: string } => ({ every: 'month', email: '' }),
    async ({ every, email }) => {
      await call('statement.schedule', { ...scope, every, ...(email.trim() === '' ? {} : { email: email.trim() }) });
      toast.success(t('settings.saved'));
      await client.invalidateQueries({ queryKey: ['schedules'] });
    },
    { email_invalid: 'email' },
  );
  return (
    <Sheet title={t('statement.mail.title')} onClose={onClose}>
      <CheckedForm onSubmit={form.submit}>
        <p className="mb-3 text-ink-2">{t('statement.mail.text', { name })}</p>
        <div className="mb-4">
          <Segment
            label={t('statement.mail.every')}
            options={scheduleEvery.map((one) => [one, t(`statement.mail.${one}`)])}
            {...field('every')}
          />
        </div>
        {mayAddress ? (
          <TextField
            label={t('statement.mail.email')}
            help={t('statement.mail.emailHelp')}
            type="email"
            {...field('email')}
          />
        ) : null}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
        <button type="submit" className="button button-primary mb-5" disabled={form.busy}>
          {t('statement.mail.add')}
        </button>
      </CheckedForm>
      <Planned />
    </Sheet>
  );
}
