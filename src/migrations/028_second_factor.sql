-- When the owner of a session last proved to be there, with the password.
-- serves_from: 16

-- Set at the sign-in and whenever the password is entered again. Null in sessions of an earlier release.
ALTER TABLE owner_sessions ADD COLUMN proved_at timestamptz;
