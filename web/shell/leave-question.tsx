/** Asks before something that was typed is thrown away. */
import { useTranslation } from 'react-i18next';
import { Confirm } from '../components/overlay.tsx';
import { answerLeaving, useLeaving } from '../lib/dirty-form.ts';

export function LeaveQuestion() {
  const { t } = useTranslation();
  if (useLeaving() === null) return null;
  return (
    <Confirm
      title={t('app.leaveTitle')}
      text={t('app.leaveText')}
      action={t('app.discard')}
      cancel={t('app.keepEditing')}
      onClose={() => answerLeaving(false)}
      onConfirm={() => answerLeaving(true)}
    />
  );
}
