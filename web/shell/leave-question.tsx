/** Asks before something that was typed is thrown away. */
import { useTranslation } from 'react-i18next';
import { Confirm } from '../components/overlay.tsx';
import { resolveNavigation, usePendingNavigation } from '../lib/dirty-form.ts';

export function LeaveQuestion() {
  const { t } = useTranslation();
  if (usePendingNavigation() === null) return null;
  return (
    <Confirm
      title={t('app.leaveTitle')}
      text={t('app.leaveText')}
      action={t('app.discard')}
      cancel={t('app.keepEditing')}
      onClose={() => resolveNavigation(false)}
      onConfirm={() => resolveNavigation(true)}
    />
  );
}
