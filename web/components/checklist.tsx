/** Where an administrator goes on until the first real request has come; hiding it is kept on the server. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { call } from '../lib/api.ts';
import { attempt } from '../lib/attempt.ts';
import { useProgress } from '../lib/setup-progress.ts';
import { useStatus } from '../lib/status.ts';

export function Checklist() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const enabled = useStatus().data?.checklist_enabled === true;
  const done = useProgress(enabled);
  if (!enabled || done === undefined || done.request) return null;
  const [step, next] =
    done.channel === null
      ? ([2, t('setup.upstream')] as const)
      : done.token === null
        ? ([3, t('setup.key')] as const)
        : ([4, t('setup.arrived')] as const);
  return (
    <section
      aria-labelledby="checklist"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-3 border border-accent px-4 py-2"
    >
      <h2 id="checklist" className="font-semibold">
        {t('setup.firstTitle')}
      </h2>
      <p className="flex-1 text-ink-2 max-sm:flex-none max-sm:basis-full">
        {t('setup.stepOf', { step, count: 4 })} · {next}
      </p>
      <button
        type="button"
        className="button button-ghost max-sm:ml-auto"
        onClick={async () => {
          await attempt(() => call('option.set', { key: 'console_setting.checklist_enabled', value: 'false' }));
          await client.invalidateQueries({ queryKey: ['status'] });
        }}
      >
        {t('setup.hide')}
      </button>
      <Link href="/first" className="button button-primary">
        {t('setup.goOn')}
      </Link>
    </section>
  );
}
