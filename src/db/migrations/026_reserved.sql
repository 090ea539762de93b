-- serves_from: 22
SELECT 1;
