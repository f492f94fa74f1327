/** How a drawing or a task stands: word and shape carry it, colour repeats it. */
import { useTranslation } from 'react-i18next';

const known = ['NOT_START', 'SUBMITTED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'MODAL', 'QUEUED'] as const;

export function WorkStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation();
  const name = known.find((one) => one === status);
  const colour = status === 'SUCCESS' ? 'text-success' : status === 'FAILURE' ? 'text-danger' : 'text-ink-2';
  return (
    <span className={colour}>
      {name === undefined ? t(status === '' ? 'works.s_EMPTY' : 'works.s_UNKNOWN') : t(`works.s_${name}`)}
    </span>
  );
}

/** `70%` as a bar; anything else as it is. */
export function Progress({ text }: { readonly text: string }) {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (share === undefined) return <span className="text-ink-2">{text}</span>;
  return (
    <span className="flex items-center gap-2">
      <span className="h-1 w-16 overflow-hidden rounded-1 bg-press">
        <span className="block h-full bg-accent" style={{ width: `${share}%` }} />
      </span>
      {text}
    </span>
  );
}
